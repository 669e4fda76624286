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
    ...recovered.flatMap((recovery) => lateness(recovery, evidence.settleWithinMs)),
  ];
  const counts = {
    "open at the engine": evidence.openAtEngine,
    "open in the table": open.length,
    "left by crashes": recovered.length,
  };
  return { number: 3, title: "nothing stays open", counts, violations };
}

function lateness({ ms, rollout, episode, kind }: Recovery, limit = Number.POSITIVE_INFINITY): Violation[] {
  if (ms !== undefined && ms <= limit) return [];
  const found = ms === undefined ? "never" : `after ${(ms / 1000).toFixed(1)} s`;
  return [
    { rollout, episode, what: `${kind}: expected it settled within ${limit / 1000} s, found it ${found}` },
  ];
}
