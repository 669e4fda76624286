/**
 * 5. The mix holds: no task that is new to the fleet comes into the engine's batch beyond what the throttle allows. As in
 * the reference, a task that the fleet has had before always passes: its other repeats are wanted.
 */
import type { Check, Evidence, Violation } from "./evidence.ts";
import { type Holding, replay } from "./holdings.ts";

export function checkMix(evidence: Evidence): Check {
  const { throttle, ledger } = evidence;
  if (!throttle) return { number: 5, title: "the mix holds (no throttle)", counts: {}, violations: [] };
  // The reference admits a new task while there are fewer than `ratio × batch`.
  const allowed = Math.ceil(throttle.ratio * throttle.batchSize);
  const violations: Violation[] = [];
  const known = new Set<string>();
  let ended = new Set<string>();
  let most = 0;
  replay(ledger, (entry, holders) => {
    if (entry.kind === "output") ended.add(holders.get(entry.episodeUuid)?.taskId ?? "");
    if (isNewBatch(entry)) ended = new Set();
    if (entry.kind !== "claim" || !entry.granted) return;
    const tasks = new Set([...ended, ...running(holders), entry.taskId]);
    const isNew = !known.has(entry.taskId);
    known.add(entry.taskId);
    most = Math.max(most, tasks.size);
    if (isNew && tasks.size > allowed)
      violations.push({
        episode: entry.episodeUuid,
        what: `expected at most ${allowed} different tasks in the batch, found ${tasks.size} with ${entry.taskId}`,
      });
  });
  return { number: 5, title: "the mix holds", counts: { allowed, most, tasks: known.size }, violations };
}

function running(holders: ReadonlyMap<string, Holding>): string[] {
  return [...holders.values()].map(({ taskId }) => taskId);
}

function isNewBatch(entry: Evidence["ledger"][number]): boolean {
  if (entry.kind === "restart") return !entry.keptState;
  return entry.kind === "status" && !/ROLLING/.test(entry.status);
}
