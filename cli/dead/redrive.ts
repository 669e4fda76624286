/**
 * Sends dead letters back into the queue with fresh attempts. The table is written first, then the message is sent, then
 * the letter removed: whatever dies in between, nothing is lost, and no rollout runs twice.
 *
 * A rollout of a named run is known by its key, so sending its message twice does no harm. A message without a run is a
 * new rollout each time it is sent: its old item keeps the mark that it is being sent again, and where that mark stands
 * already, only a person can say whether the message went out.
 */

import type { Clock, Random } from "../../functions/core/clock.ts";
import { describeError } from "../../functions/core/errors.ts";
import type { Log } from "../../functions/core/log.ts";
import {
  isDone,
  isOpen,
  isSentAgain,
  type RolloutItem,
  type RolloutStore,
} from "../../functions/core/rollout/item.ts";
import type { Rollout } from "../../functions/core/rollout/message.ts";
import { firstSeen, type NextItem, revived, sentAgain } from "../../functions/core/rollout/transitions.ts";
import { writeTransition } from "../../functions/core/rollout/write-transition.ts";
import type { Fleet } from "../deployment.ts";
import { rolloutOf } from "./letter.ts";
import { type Letter, type LetterQueue, removeLetter, sendAgain } from "./letters.ts";

/**
 * `sent` back in the queue; `ended` it had ended meanwhile, and the letter is removed; `open` an episode of it is open,
 * the letter stays; `unsure` an earlier redrive may have sent it, the letter stays.
 */
export type Redriven = "sent" | "ended" | "open" | "unsure";

export interface RedrivePorts {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly rollouts: RolloutStore;
  readonly queue: LetterQueue;
  /** The same queue by a client that sends each request once. */
  readonly queueOnce: LetterQueue;
  readonly letters: LetterQueue;
  readonly fleet: Fleet;
  /** Send also what an earlier redrive may have sent. */
  readonly evenIfUnsure: boolean;
}

export async function redrive(ports: RedrivePorts, letter: Letter): Promise<Redriven> {
  const rollout = rolloutOf(letter);
  const verdict = rollout ? await readied(ports, rollout) : "send";
  if (verdict === "open" || verdict === "unsure") return verdict;
  if (verdict === "send" && !(await isSent(ports, rollout, letter))) return "unsure";
  await removeLetter(ports.letters, letter);
  return verdict === "send" ? "sent" : "ended";
}

/**
 * False where nobody can tell: a message without a run is another rollout each time it is sent, so it is sent once, and a
 * lost answer leaves it to a person.
 */
async function isSent(ports: RedrivePorts, rollout: Rollout | undefined, letter: Letter): Promise<boolean> {
  if (rollout?.run !== undefined || !rollout) {
    await sendAgain(ports.queue, letter);
    return true;
  }
  try {
    await sendAgain(ports.queueOnce, letter);
    return true;
  } catch (error) {
    if (isRefusal(error)) throw error;
    ports.log(
      "warn",
      `message ${letter.messageId}: whether the queue took it is unknown: ${describeError(error, 200)}`,
    );
    return false;
  }
}

/** An answer of the queue's own that says no. */
function isRefusal(error: unknown): boolean {
  const status = (error as { $metadata?: { httpStatusCode?: number } }).$metadata?.httpStatusCode;
  return status !== undefined && status >= 400 && status < 500;
}

type Verdict = "send" | Exclude<Redriven, "sent">;

/** Brings the rollout's item to where its message may be sent again. */
async function readied(ports: RedrivePorts, rollout: Rollout): Promise<Verdict> {
  let item = await ports.rollouts.read(ports.fleet.name, rollout.key);
  for (;;) {
    const step = rollout.run === undefined ? stepOfMessage(ports, rollout, item) : stepOfRun(ports, item);
    if (typeof step === "string") return step;
    const moved = await writeTransition(ports, item, step);
    if (moved.moved) return "send";
    // Somebody else was first: look at what stands there now.
    item = moved.found;
  }
}

function stepOfRun({ clock }: RedrivePorts, item: RolloutItem | undefined): Verdict | NextItem {
  if (!item) return "send";
  if (isDone(item)) return "ended";
  if (item.state !== "dead") return "send";
  return revived(item, clock.now());
}

function stepOfMessage(
  { clock, fleet, evenIfUnsure }: RedrivePorts,
  rollout: Rollout,
  item: RolloutItem | undefined,
): Verdict | NextItem {
  const now = clock.now();
  const previous = item ?? firstSeen(rollout, { fleet: fleet.name, engine: fleet.engine }, now);
  if (isDone(previous)) return "ended";
  if (item && isOpen(item)) return "open";
  if (item && isSentAgain(item)) return evenIfUnsure ? "send" : "unsure";
  return sentAgain(previous, now);
}
