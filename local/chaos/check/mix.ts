/**
 * 5. The mix holds: no task that is new to the fleet comes into the engine's batch beyond what the throttle allows. As in
 * the reference, a task that the fleet has had before always passes, since its other repeats are wanted; and an engine
 * where nothing runs lets a new one in, here one at a time and once the fleet has been full for a while.
 */

import { admissionDefaults } from "../../../functions/core/admission/admission.ts";
import type { LedgerEntry } from "../../engine/ledger.ts";
import type { Check, Evidence, Violation } from "./evidence.ts";
import { type Holding, replay } from "./holdings.ts";

/** From a look at an idle engine to the claim that follows it: a claim may be repeated and late. */
const IDLE_COUNTS_MS = 30_000;

export function checkMix(evidence: Evidence): Check {
  const { throttle, ledger } = evidence;
  if (!throttle) return { number: 5, title: "the mix holds (no throttle)", counts: {}, violations: [] };
  // The reference admits a new task while there are fewer than `ratio × batch`.
  const allowed = Math.ceil(throttle.ratio * throttle.batchSize);
  const violations: Violation[] = [];
  const mix = new Mix(allowed);
  replay(ledger, (entry, holders) => {
    const tasks = mix.next(entry, holders);
    if (tasks !== undefined && entry.kind === "claim")
      violations.push({
        episode: entry.episodeUuid,
        what: `expected at most ${allowed} different tasks in the batch, found ${tasks} with ${entry.taskId}`,
      });
  });
  const { most, idle } = mix;
  const counts = {
    allowed,
    most,
    tasks: mix.known.size,
    ...(idle > 0 && { "let in by an idle engine": idle }),
  };
  return { number: 5, title: "the mix holds", counts, violations };
}

class Mix {
  readonly known = new Set<string>();
  most = 0;
  /** New tasks beyond the bound that an idle engine explains. */
  idle = 0;
  readonly #allowed: number;
  #ended = new Set<string>();
  /** Unix ms: since when the batch holds as many tasks as are allowed. */
  #fullSince: number | undefined;
  /** Unix ms: when nothing ran for the last time, unless that has let a task in already. */
  #idleAt: number | undefined;

  constructor(allowed: number) {
    this.#allowed = allowed;
  }

  /** The number of tasks in the batch, where the claim brought in one too many. */
  next(entry: LedgerEntry, holders: ReadonlyMap<string, Holding>): number | undefined {
    if (isNewBatch(entry)) [this.#ended, this.#fullSince] = [new Set(), undefined];
    if (holders.size === 0) this.#idleAt = entry.at;
    if (entry.kind === "output") this.#ended.add(holders.get(entry.episodeUuid)?.taskId ?? "");
    if (entry.kind !== "claim" || !entry.granted) return undefined;
    const tasks = new Set([...this.#ended, ...running(holders), entry.taskId]);
    const isNew = !this.known.has(entry.taskId);
    this.known.add(entry.taskId);
    this.most = Math.max(this.most, tasks.size);
    const isTooMany = isNew && tasks.size > this.#allowed;
    if (isTooMany && !this.#passesIdle(entry.at)) return tasks.size;
    if (tasks.size >= this.#allowed) this.#fullSince ??= entry.at;
    return undefined;
  }

  #passesIdle(at: number): boolean {
    const idleAt = this.#idleAt ?? Number.NEGATIVE_INFINITY;
    const fullFor = at - (this.#fullSince ?? at);
    if (at - idleAt > IDLE_COUNTS_MS || fullFor < admissionDefaults.idleMs) return false;
    this.#idleAt = undefined;
    this.idle += 1;
    return true;
  }
}

function running(holders: ReadonlyMap<string, Holding>): string[] {
  return [...holders.values()].map(({ taskId }) => taskId);
}

function isNewBatch(entry: LedgerEntry): boolean {
  if (entry.kind === "restart") return !entry.keptState;
  return entry.kind === "status" && !/ROLLING/.test(entry.status);
}
