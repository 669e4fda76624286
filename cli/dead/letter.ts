/** What a dead letter says of itself. */

import { InvalidMessageError } from "../../functions/core/errors.ts";
import { reasons } from "../../functions/core/reasons.ts";
import { decodeMessage, type Rollout } from "../../functions/core/rollout/message.ts";
import type { Letter } from "./letters.ts";

/** SQS itself makes a letter of what was received `maxReceiveCount` times, and says no reason. */
export const RECEIVED_TOO_OFTEN = "received-too-often";
const meanings: Readonly<Record<string, string>> = {
  ...reasons,
  [RECEIVED_TOO_OFTEN]: "SQS gave up: the message was received too often without being done",
};
export const letterReasons = Object.keys(meanings);

export function meaningOf(reason: string): string {
  return meanings[reason] ?? "a reason of another release";
}

export interface LetterFacts {
  readonly message_id: string;
  readonly reason: string;
  readonly error: string;
  /** The rollout's key; null where the message is none. */
  readonly rollout: string | null;
  readonly attempts: number | null;
  readonly episodes: readonly string[];
  /** ISO 8601. */
  readonly died_at: string;
}

export function factsOf(letter: Letter): LetterFacts {
  const { attributes } = letter;
  return {
    message_id: letter.messageId,
    reason: attributes["reason"] ?? RECEIVED_TOO_OFTEN,
    error: attributes["error"] ?? "",
    rollout: rolloutOf(letter)?.key ?? null,
    attempts: attributes["attempts"] === undefined ? null : Number(attributes["attempts"]),
    episodes: attributes["episodes"]?.split(",").filter(Boolean) ?? [],
    died_at: attributes["died_at"] ?? new Date(letter.sentAt).toISOString(),
  };
}

/**
 * The rollout, under the key that the table has; undefined where the message is none. A message without a run has its
 * key from the id of the original message, which SQS keeps in its own letters, and ours name.
 */
export function rolloutOf({ body, messageId, attributes }: Letter): Rollout | undefined {
  try {
    const rollout = decodeMessage(body, messageId);
    const told = attributes["rollout"];
    return rollout.run === undefined && told !== undefined ? { ...rollout, key: told } : rollout;
  } catch (error) {
    if (error instanceof InvalidMessageError) return undefined;
    throw error;
  }
}
