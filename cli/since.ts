/** A snapshot whose fleets count only what came since another: counters only grow, so the difference says it. */
import type { FleetSnapshot, Snapshot } from "../functions/core/housekeeping/snapshot.ts";
import { noTotals, rewardDeviation, rewardMean, type Totals } from "../functions/core/housekeeping/totals.ts";

/** The snapshot, with the fleets' figures since the first of `history` (oldest first). */
export function since(snapshot: Snapshot, history: readonly Snapshot[]): Snapshot {
  const [first = snapshot] = history;
  const fleets = Object.entries(snapshot.fleets).map(([name, fleet]) => {
    return [name, fleetSince(fleet, first.fleets[name])] as const;
  });
  return { ...snapshot, fleets: Object.fromEntries(fleets) };
}

function fleetSince(fleet: FleetSnapshot, then: FleetSnapshot | undefined): FleetSnapshot {
  const totals = totalsSince(fleet.totals, then?.totals ?? noTotals());
  return {
    ...fleet,
    totals,
    reward_mean: rewardMean(totals),
    reward_deviation: rewardDeviation(totals),
    spend: spendSince(fleet, then, totals),
  };
}

export function totalsSince(now: Totals, then: Totals): Totals {
  const attempts = Object.entries(now.attempts) as [keyof Totals["attempts"], number][];
  const numbers = Object.entries(now).flatMap(([name, value]) =>
    typeof value === "number" ? [[name, value - Number(then[name as keyof Totals] ?? 0)]] : [],
  );
  return {
    ...now,
    ...Object.fromEntries(numbers),
    attempts: Object.fromEntries(
      attempts.map(([reason, count]) => [reason, count - (then.attempts[reason] ?? 0)]),
    ),
  };
}

function spendSince(
  { spend }: FleetSnapshot,
  then: FleetSnapshot | undefined,
  { ended, eval_ended }: Totals,
): FleetSnapshot["spend"] {
  if (!spend) return null;
  const usd_total = spend.usd_total - (then?.spend?.usd_total ?? 0);
  const episodes = ended + eval_ended;
  return { ...spend, usd_total, usd_per_ended: episodes === 0 ? null : usd_total / episodes };
}
