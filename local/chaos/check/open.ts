/** 3. Nothing stays open: no claimed episode at the end, and every crash settled in time. */
import type { Check, Evidence, Violation } from "./evidence.ts";
import { type Recovery, recoveries } from "./recovery.ts";

export function checkOpen(evidence: Evidence): Check {
  const recovered = recoveries(evidence);
  const open = [...(evidence.items ?? [])].filter(([, item]) => item.attempt !== undefined);
  const violations: Violation[] = [
    ...open.map(([rollout, item]) => ({
      rollout,
      episode: item.attempt?.episode,
      what: `an attempt is still ${item.state} in the table`,
    })),
    ...(evidence.openAtEngine > 0
      ? [{ what: `${evidence.openAtEngine} episodes are still claimed at the engine` }]
      : []),
    ...recovered.flatMap((recovery) => lateness(recovery, evidence)),
  ];
  const counts = {
    "open at the engine": evidence.openAtEngine,
    "open in the table": open.length,
    "left by crashes": recovered.length,
  };
  return { number: 3, title: "nothing stays open", counts, violations };
}

function lateness(
  { ms, crashed, rollout, episode, kind }: Recovery,
  { settleWithinMs: limit = Number.POSITIVE_INFINITY, outages = [] }: Evidence,
): Violation[] {
  if (ms !== undefined && ms - lengthWithin(outages, crashed, crashed + ms) <= limit) return [];
  const found = ms === undefined ? "never" : `after ${(ms / 1000).toFixed(1)} s`;
  return [
    { rollout, episode, what: `${kind}: expected it settled within ${limit / 1000} s, found it ${found}` },
  ];
}

/** How much of the time from `begin` to `end` lies in the spans, each moment counted once. */
function lengthWithin(spans: NonNullable<Evidence["outages"]>, begin: number, end: number): number {
  let [sum, reached] = [0, begin];
  for (const { from, to } of spans.toSorted((a, b) => a.from - b.from)) {
    const [start, stop] = [Math.max(from, reached), Math.min(to, end)];
    sum += Math.max(0, stop - start);
    reached = Math.max(reached, stop);
  }
  return sum;
}
