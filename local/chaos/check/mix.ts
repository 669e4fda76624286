/** 5. The mix holds: never more different tasks in the engine's batch than the throttle allows. */
import type { Check, Evidence, Violation } from "./evidence.ts";
import { type Holding, replay } from "./holdings.ts";

export function checkMix(evidence: Evidence): Check {
  const { throttle, ledger } = evidence;
  if (!throttle) return { number: 5, title: "the mix holds (no throttle)", counts: {}, violations: [] };
  // The reference admits a new task while there are fewer than `ratio × batch`.
  const allowed = Math.ceil(throttle.ratio * throttle.batchSize);
  const violations: Violation[] = [];
  let ended = new Set<string>();
  let most = 0;
  replay(ledger, (entry, holders) => {
    if (entry.kind === "output") ended.add(holders.get(entry.episodeUuid)?.taskId ?? "");
    if (isNewBatch(entry)) ended = new Set();
    if (entry.kind !== "claim" || !entry.granted) return;
    const tasks = new Set([...ended, ...running(holders), entry.taskId]);
    most = Math.max(most, tasks.size);
    if (tasks.size > allowed)
      violations.push({
        episode: entry.episodeUuid,
        what: `expected at most ${allowed} different tasks in the batch, found ${tasks.size} with ${entry.taskId}`,
      });
  });
  return { number: 5, title: "the mix holds", counts: { allowed, most }, violations };
}

function running(holders: ReadonlyMap<string, Holding>): string[] {
  return [...holders.values()].map(({ taskId }) => taskId);
}

function isNewBatch(entry: Evidence["ledger"][number]): boolean {
  if (entry.kind === "restart") return !entry.keptState;
  return entry.kind === "status" && !/ROLLING/.test(entry.status);
}
