/**
 * A fleet's counters. They are summed up from the attempts that the rollout items remember, by one reader, and written
 * together with the moment up to which they are complete: so each attempt counts once, whatever is redelivered or dies.
 */
import * as z from "zod";
import { isOutcome, type Reason, reasons, usesUpAnAttempt } from "../reasons.ts";
import type { PastAttempt, RolloutItem } from "../rollout/item.ts";
import { entryBytes, itemBytes, storedName } from "../stored-size.ts";

const counter = z.number().default(0);
export const totalsSchema = z.object({
  /** How attempts ended, by reason; train and eval together. */
  attempts: z.partialRecord(z.enum(Object.keys(reasons) as [Reason, ...Reason[]]), z.number()).default({}),
  /** Ended train rollouts, and of their rewards the sum and the sum of squares (numbers only). */
  ended: counter,
  rewards: counter,
  reward_sum: counter,
  reward_squares: counter,
  /** Ended train episodes in which the agent was not seen to call the model: the trainer drops them. */
  ended_without_model_call: counter,
  eval_ended: counter,
  eval_rewards: counter,
  eval_reward_sum: counter,
  /** Rollouts that were given up; one that is redriven counts once, until it has come to its end. */
  dead: counter,
  unknown: counter,
  /** Rollouts whose reward went with a training that ended before its batch. */
  lost: counter,
  /** Groups that a batch waits for in vain: dead train rollouts by task id, as far as there is room. */
  incomplete: z.record(z.string(), z.number()).default({}),
  /** Dead train rollouts of tasks for which `incomplete` has no room. */
  incomplete_unlisted: counter,
  /** Time from claim to end over all attempts, ms. */
  episode_ms: counter,
});
export type Totals = z.infer<typeof totalsSchema>;

/** The item of a fleet: totals of all attempts that ended before `as_of` (unix ms). */
export const fleetTotalsSchema = z.object({ as_of: z.number(), version: z.number(), totals: totalsSchema });
export type FleetTotals = z.infer<typeof fleetTotalsSchema>;

/** What the index of changed rollouts shows of one. */
export type ChangedRollout = Pick<
  RolloutItem,
  "key" | "state" | "episode_type" | "task_id" | "history" | "attempts"
>;

export function noTotals(): Totals {
  return totalsSchema.parse({});
}

/** Adds what ended in `[from, to)` to `totals`. */
export function addAttempts(totals: Totals, rollout: ChangedRollout, from: number, to: number): Totals {
  return rollout.history
    .filter(({ at }) => at >= from && at < to)
    .reduce((sum, attempt) => {
      const last = attempt === rollout.history.at(-1);
      return addAttempt(sum, attempt, rollout, last);
    }, totals);
}

function addAttempt(totals: Totals, attempt: PastAttempt, rollout: ChangedRollout, last: boolean): Totals {
  const { reason } = attempt;
  // Who was redriven counts as dead already: it dies no second time, and is so no longer where it comes to its end.
  const redriven = wasRedriven(rollout);
  const died = last && rollout.state === "dead" && !redriven;
  const revived = redriven && isOutcome(reason);
  const next: Totals = {
    ...totals,
    attempts: { ...totals.attempts, [reason]: (totals.attempts[reason] ?? 0) + 1 },
    episode_ms: totals.episode_ms + attempt.at - attempt.from,
    dead: Math.max(0, totals.dead + (died ? 1 : 0) - (revived ? 1 : 0)),
    unknown: totals.unknown + (reason === "unknown" ? 1 : 0),
    lost: totals.lost + (reason === "training-lost" ? 1 : 0),
  };
  if (rollout.episode_type === "eval") return reason === "ended" ? addEvalEnd(next, attempt) : next;
  if (died) return { ...next, ...withDead(next, rollout.task_id) };
  if (reason !== "ended") return next;
  const ended = addTrainEnd(next, attempt);
  return revived ? { ...ended, ...withoutDead(next, rollout.task_id) } : ended;
}

type Groups = Pick<Totals, "incomplete" | "incomplete_unlisted">;
/** As many are listed as leave the item room for the rest. */
const MOST_GROUPS = 500;
const GROUPS_BYTES = 100_000;

function withDead(totals: Totals, task: string): Groups {
  const { incomplete, incomplete_unlisted } = totals;
  const name = storedName(task);
  const listed = Object.hasOwn(incomplete, name) ? (incomplete[name] ?? 0) : undefined;
  if (listed !== undefined || hasRoom(incomplete, name))
    return { incomplete: { ...incomplete, [name]: (listed ?? 0) + 1 }, incomplete_unlisted };
  return { incomplete, incomplete_unlisted: incomplete_unlisted + 1 };
}

function hasRoom(groups: Totals["incomplete"], name: string): boolean {
  if (Object.keys(groups).length >= MOST_GROUPS) return false;
  return itemBytes(groups) + entryBytes(name, 1) <= GROUPS_BYTES;
}

/** A task that is not listed is among those that were not when its rollout died. */
function withoutDead(totals: Totals, task: string): Groups {
  const { incomplete, incomplete_unlisted } = totals;
  const name = storedName(task);
  if (!Object.hasOwn(incomplete, name))
    return { incomplete, incomplete_unlisted: Math.max(0, incomplete_unlisted - 1) };
  const previous = Object.entries(incomplete).map(
    ([task, dead]) => [task, task === name ? dead - 1 : dead] as const,
  );
  return { incomplete: Object.fromEntries(previous.filter(([, dead]) => dead > 0)), incomplete_unlisted };
}

/** The groups that take at most `bytes` in an item; the rest is counted as not listed. */
export function withinBytes(totals: Totals, bytes: number): Totals {
  let room = bytes;
  const listed = Object.entries(totals.incomplete).filter(([task, dead]) => {
    const size = entryBytes(task, dead) + 1;
    if (size > room) return false;
    room -= size;
    return true;
  });
  const all = Object.values(totals.incomplete).reduce((sum, dead) => sum + dead, 0);
  const shown = listed.reduce((sum, [, dead]) => sum + dead, 0);
  return {
    ...totals,
    incomplete: Object.fromEntries(listed),
    incomplete_unlisted: totals.incomplete_unlisted + all - shown,
  };
}

/** A redrive gives a dead rollout its attempts back, and leaves its history. */
function wasRedriven({ history, attempts }: ChangedRollout): boolean {
  return history.filter(({ reason }) => reason !== "ended" && usesUpAnAttempt(reason)).length > attempts;
}

function addTrainEnd(totals: Totals, { reward, calls }: PastAttempt): Totals {
  const number = typeof reward === "number" ? reward : undefined;
  return {
    ...totals,
    ended: totals.ended + 1,
    ended_without_model_call: totals.ended_without_model_call + (calls === 0 ? 1 : 0),
    rewards: totals.rewards + (number === undefined ? 0 : 1),
    reward_sum: totals.reward_sum + (number ?? 0),
    reward_squares: totals.reward_squares + (number ?? 0) ** 2,
  };
}

function addEvalEnd(totals: Totals, { reward }: PastAttempt): Totals {
  const number = typeof reward === "number" ? reward : undefined;
  return {
    ...totals,
    eval_ended: totals.eval_ended + 1,
    eval_rewards: totals.eval_rewards + (number === undefined ? 0 : 1),
    eval_reward_sum: totals.eval_reward_sum + (number ?? 0),
  };
}

export function rewardMean(totals: Totals): number | null {
  return totals.rewards === 0 ? null : totals.reward_sum / totals.rewards;
}

/** Population standard deviation. */
export function rewardDeviation(totals: Totals): number | null {
  const mean = rewardMean(totals);
  if (mean === null) return null;
  return Math.sqrt(Math.max(0, totals.reward_squares / totals.rewards - mean ** 2));
}
