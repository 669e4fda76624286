/**
 * The transitions of a rollout as pure functions: the item that stands, in; the item that shall stand, out. Writing it
 * is conditional on the item that was left, so a late or doubled attempt changes nothing.
 */
import { TRACE_LENGTH } from "../error-trace.ts";
import { shorten } from "../errors.ts";
import type { WorkflowOutput } from "../protocol.ts";
import { isOutcome, type Reason, usesUpAnAttempt } from "../reasons.ts";
import { keptOutput, REWARD_BYTES, rewardBytes } from "./fit-output.ts";
import {
  type Attempt,
  HISTORY_LENGTH,
  type OpenRolloutItem,
  type PastAttempt,
  type RolloutItem,
} from "./item.ts";
import type { Rollout } from "./message.ts";

export interface FleetName {
  readonly fleet: string;
  readonly engine: string;
}

/** Characters of a detail that an item keeps: what an agent threw, with the lines of its source. */
const DETAIL_LENGTH = TRACE_LENGTH;

/** A transition leaves the stamp to the writer. */
export type NextItem = Omit<RolloutItem, "stamp">;

/** A rollout of which the table knows nothing yet. */
export function firstSeen(rollout: Rollout, names: FleetName, now: number): NextItem {
  return {
    v: 1,
    fleet: names.fleet,
    engine: names.engine,
    key: rollout.key,
    task_id: rollout.task.task_id,
    repeat: rollout.repeat,
    ...(rollout.run === undefined ? {} : { run: rollout.run }),
    episode_type: rollout.episodeType,
    state: "waiting",
    attempts: 0,
    tries: 0,
    history: [],
    created_at: now,
    changed_at: now,
  };
}

/** waiting → running: an episode is claimed. */
export function opened(item: NextItem, attempt: Attempt, now: number): NextItem & { attempt: Attempt } {
  return { ...item, state: "running", tries: item.tries + 1, attempt, changed_at: now };
}

/** running → reporting: the result is safe, whatever happens to this process. */
export function withResult(
  item: OpenRolloutItem,
  result: WorkflowOutput,
  model: { calls?: number | undefined; lastCallAt?: number | undefined },
  now: number,
): NextItem & { attempt: Attempt } {
  const last = model.lastCallAt === undefined ? {} : { last_call_at: model.lastCallAt };
  const calls = model.calls === undefined ? {} : { model_calls: model.calls };
  const attempt = { ...item.attempt, result, result_at: now, ...calls, ...last };
  return { ...item, state: "reporting", attempt, changed_at: now };
}

/** reporting → reporting, under a new stamp: another process goes on with the report of the stored result. */
export function takenOver(item: OpenRolloutItem, now: number): NextItem {
  return { ...item, changed_at: now };
}

/** Remembers since when the engine shows the episode nowhere. */
export function goneSince(item: OpenRolloutItem, now: number): NextItem & { attempt: Attempt } {
  return { ...item, attempt: { ...item.attempt, gone_since: now }, changed_at: now };
}

/** Remembers when an end was sent that is not answered. */
export function endSent(item: OpenRolloutItem, sentAt: number, now: number): NextItem & { attempt: Attempt } {
  return { ...item, attempt: { ...item.attempt, end_sent_at: sentAt }, changed_at: now };
}

/** Remembers how the attempt failed, where the engine could not be told so. */
export function failed(
  item: OpenRolloutItem,
  reason: Reason,
  detail: string | undefined,
  settlingAt?: number,
): NextItem {
  const failure = {
    reason,
    ...(detail ? { detail: shorten(detail, DETAIL_LENGTH) } : {}),
    ...(settlingAt === undefined ? {} : { settling_at: settlingAt }),
  };
  return { ...item, attempt: { ...item.attempt, failure } };
}

/** The open attempt ends under exactly one reason; the rollout is ended, unknown, lost, dead, or waits for another one. */
export function closed(
  item: OpenRolloutItem,
  end: {
    reason: Reason;
    now: number;
    maxAttempts: number;
    detail?: string | undefined;
    withoutPenalty?: boolean;
  },
): NextItem {
  const { attempt: _, ...rest } = item;
  const penalty = end.reason !== "ended" && usesUpAnAttempt(end.reason) && !end.withoutPenalty;
  const attempts = item.attempts + (penalty ? 1 : 0);
  const history = [...item.history, past(item.attempt, end)].slice(-HISTORY_LENGTH);
  const state = stateAfter(end.reason, attempts, end.maxAttempts);
  const output = state === "ended" && item.attempt.result ? keptOutput(item.attempt.result) : undefined;
  return {
    ...rest,
    state,
    attempts,
    history,
    ...(output === undefined ? {} : { output }),
    ...(end.reason === "suspected" ? { suspected: (item.suspected ?? 0) + 1 } : {}),
    ...(end.reason === "agent-discarded" ? { discards: (item.discards ?? 0) + 1 } : {}),
    ...(end.reason === "agent-lost" ? { losses: (item.losses ?? 0) + 1 } : {}),
    changed_at: end.now,
    ...(state === "dead" ? { letter: "owed" as const } : {}),
  };
}

function stateAfter(reason: Reason, attempts: number, maxAttempts: number): RolloutItem["state"] {
  if (reason === "ended") return "ended";
  if (reason === "unknown") return "unknown";
  if (reason === "training-lost") return "lost";
  return attempts >= maxAttempts ? "dead" : "waiting";
}

function past(
  attempt: Attempt,
  end: { reason: Reason; now: number; detail?: string | undefined },
): PastAttempt {
  const counted = isOutcome(end.reason);
  // An earlier release took larger ones: without it, the end can be written down at all.
  const keeps = counted && attempt.result && rewardBytes(attempt.result.reward) <= REWARD_BYTES;
  return {
    id: attempt.id,
    episode: attempt.episode,
    reason: end.reason,
    at: end.now,
    from: attempt.claimed_at,
    step: attempt.global_step,
    ...(keeps && attempt.result ? { reward: attempt.result.reward } : {}),
    ...(attempt.model_calls === undefined ? {} : { calls: attempt.model_calls }),
    ...(end.detail ? { detail: shorten(end.detail, DETAIL_LENGTH) } : {}),
  };
}

/** dead, letter owed → dead, letter sent. */
export function letterSent(item: RolloutItem, now: number): NextItem {
  return { ...item, letter: "sent", changed_at: now };
}

/** dead → waiting, with fresh attempts: its dead letter goes back into the queue, under the same key. */
export function revived(item: RolloutItem, now: number): NextItem {
  const { letter: _, ...rest } = item;
  return { ...rest, state: "waiting", attempts: 0, changed_at: now };
}

/**
 * dead → sent again: its message, which has no run, goes back into the queue as a new rollout. This item stays as the mark
 * of it (`isSentAgain`).
 */
export function sentAgain(item: NextItem, now: number): NextItem {
  return { ...item, state: "waiting", attempts: 0, letter: "sent", changed_at: now };
}

/** ended → ended, and the trainer has it (or, with null, has closed its batch without). */
export function confirmed(item: RolloutItem, at: number | null): NextItem {
  return { ...item, confirmed_at: at };
}

/** ended → ended, and nobody has seen whether the trainer has it. */
export function unseen(item: RolloutItem, at: number): NextItem {
  return { ...item, unseen_at: at };
}

/** The last way an attempt of this rollout ended. */
export function lastAttempt(item: RolloutItem): PastAttempt | undefined {
  return item.history.at(-1);
}

/** So often the death of a whole function is nobody's fault: hosts fail, and neighbours share it. */
const FREE_CRASHES = 2;

/**
 * An agent that gives its episode back, or whose service dies over it, costs its rollout nothing, but not for ever: then
 * it costs an attempt.
 */
export function boundedReason(
  item: Pick<RolloutItem, "discards" | "losses">,
  reason: Reason,
  limits: { readonly maxDiscards: number },
): Reason {
  if (reason === "agent-discarded" && (item.discards ?? 0) >= limits.maxDiscards) return "agent-aborted";
  if (reason === "agent-lost" && (item.losses ?? 0) >= FREE_CRASHES) return "agent-error";
  return reason;
}

/** What the death of its function means for a rollout: at first it is suspected only, and its next attempt runs alone. */
export function crashReason(item: Pick<RolloutItem, "suspected">): "suspected" | "crashed" {
  return (item.suspected ?? 0) < FREE_CRASHES ? "suspected" : "crashed";
}
