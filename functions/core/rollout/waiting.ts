/** How long a message waits in the queue before its rollout is tried again, in seconds. */

import type { Random } from "../clock.ts";
import { usesUpAnAttempt } from "../reasons.ts";
import type { WaitReason } from "./claim.ts";
import type { RolloutItem } from "./item.ts";

/** SQS hides a message for at most 12 h from its receive; nothing here comes near. */
const LONGEST_WAIT_SECONDS: Record<WaitReason, number> = {
  "not-rolling": 60,
  "no-episodes": 60,
  refused: 60,
  "engine-error": 120,
  throttled: 60,
  "no-time": 5,
  closed: 60,
  overtaken: 5,
  "not-needed": 60,
  stopped: 5,
};

/** Grows with each delivery and is spread by a quarter either way, so that waiting messages do not come back at once. */
export function waitInQueue(reason: WaitReason, receiveCount: number, random: Random): number {
  const grown = 10 * 1.5 ** Math.min(receiveCount - 1, 20);
  return spread(Math.min(grown, LONGEST_WAIT_SECONDS[reason]), random);
}

/**
 * SQS itself makes a dead letter of a message after `maxReceiveCount` deliveries, and a deferral is one. As long as one
 * delivery an hour would do until the message's retention is over, it waits as it likes; from then on evenly, so that
 * the deliveries last exactly as long as SQS keeps the message.
 */
export const PATIENT_WAIT_SECONDS = 3600;
/** SQS hides a message for at most 12 h from its receive, of which a function may have spent some. */
const MOST_SECONDS = 39_600;

export function withinDeliveries(
  seconds: number,
  message: { readonly receiveCount: number; readonly sentAt: number },
  queue: { readonly maxReceiveCount: number; readonly messageRetentionDays: number },
  now: number,
): number {
  const deliveries = Math.max(1, queue.maxReceiveCount - message.receiveCount);
  const remaining = message.sentAt / 1000 + queue.messageRetentionDays * 86_400 - now / 1000;
  const needed = Math.ceil(remaining / deliveries);
  return needed > PATIENT_WAIT_SECONDS ? Math.min(Math.max(seconds, needed), MOST_SECONDS) : seconds;
}

/** After a failed attempt: 2 s, 8 s, 32 s … up to five minutes. */
export function waitAfterAttempt(item: Pick<RolloutItem, "attempts" | "history">, random: Random): number {
  const last = item.history.at(-1);
  if (!last || usesUpAnAttempt(last.reason))
    return spread(Math.min(2 * 4 ** Math.max(0, item.attempts - 1), 300), random);
  // Without penalty it costs the rollout nothing, but an engine in trouble must not be hammered.
  return spread(Math.min(2 * 1.5 ** (item.history.length - 1), 60), random);
}

/** While an invocation has no place for one more agent that runs alone: others may have. */
export function waitAlone(random: Random): number {
  return Math.round(5 + random() * 15);
}

/** While another attempt of the same rollout is open. */
export const WAIT_FOR_OPEN_ATTEMPT_SECONDS = 30;

function spread(seconds: number, random: Random): number {
  return Math.max(1, Math.round(seconds * (0.75 + random() / 2)));
}
