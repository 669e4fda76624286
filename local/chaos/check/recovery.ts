/** From the crash of a function to the settling of each attempt that it left open. */
import { parseClientUuid } from "../../../functions/core/client-uuid.ts";
import type { Kill } from "../killer.ts";
import type { Evidence } from "./evidence.ts";
import { replay } from "./holdings.ts";

export interface Recovery {
  readonly kind: string;
  readonly episode: string;
  readonly rollout: string | undefined;
  /** Unix ms. */
  readonly crashed: number;
  /** From the crash until engine and table both have it settled; undefined where one never had. */
  readonly ms: number | undefined;
}

/** An attempt as engine and table saw it. */
interface Traces {
  readonly episode: string;
  readonly claimedAt: number;
  rollout?: string | undefined;
  /** Unix ms; undefined while open; absent where that side does not know the attempt. */
  engine?: number | undefined;
  table?: number | undefined;
}

export function recoveries(evidence: Evidence): Recovery[] {
  const attempts = tracesByAttempt(evidence);
  return (evidence.kills ?? []).flatMap((kill) =>
    [...attempts]
      .filter(([attempt]) => attempt.startsWith(`${kill.invocation}.`))
      .flatMap(([, traces]) => recoveryOf(kill, traces)),
  );
}

function recoveryOf(kill: Kill, traces: Traces): Recovery[] {
  const ends = [...("engine" in traces ? [traces.engine] : []), ...("table" in traces ? [traces.table] : [])];
  const settled = ends.includes(undefined) ? undefined : Math.max(...ends.map((end) => end ?? 0));
  // A request that was on its way when its sender died may be granted after that.
  const crashed = Math.max(kill.at, traces.claimedAt);
  if (settled !== undefined && settled <= crashed) return [];
  const ms = settled === undefined ? undefined : settled - crashed;
  return [{ kind: kill.kind, episode: traces.episode, rollout: traces.rollout, crashed, ms }];
}

/** The table tells by the functions' clocks: where those are off, only the engine's is left. */
function tracesByAttempt({ ledger, items: known, clocksOffMs = 0 }: Evidence): Map<string, Traces> {
  const items = clocksOffMs > 0 ? undefined : known;
  const attempts = new Map<string, Traces>();
  for (const { clientUuid, episodeUuid, from, to } of replay(ledger)) {
    const attempt = parseClientUuid(clientUuid)?.attempt;
    if (attempt) attempts.set(attempt, { episode: episodeUuid, claimedAt: from, engine: to });
  }
  for (const [rollout, { history, attempt }] of items ?? []) {
    const told = [
      ...history.map(({ id, episode, at, from }) => ({ id, episode, claimedAt: from, table: at })),
      ...(attempt ? [{ ...attempt, claimedAt: attempt.claimed_at, table: undefined }] : []),
    ];
    for (const { id, episode, claimedAt, table } of told)
      attempts.set(id, { ...(attempts.get(id) ?? { episode, claimedAt }), rollout, table });
  }
  return attempts;
}

export interface RecoveryTimes {
  readonly count: number;
  /** Seconds; null where nothing had to be settled. */
  readonly median: number | null;
  readonly max: number | null;
}

export function recoveryTimes(evidence: Evidence): RecoveryTimes {
  const times = recoveries(evidence)
    .map(({ ms }) => ms ?? Number.POSITIVE_INFINITY)
    .toSorted((a, b) => a - b);
  const seconds = (ms: number | undefined) => (ms === undefined ? null : ms / 1000);
  return { count: times.length, median: seconds(times[times.length >> 1]), max: seconds(times.at(-1)) };
}
