/** Two faults of fauxqs 2.4.1, mended where it is built; `docs/compatibility.md` describes them. */
import type { DatabaseSync } from "node:sqlite";

/** A part of fauxqs, which exports none. */
export async function queuePart<T>(path: string): Promise<T> {
  const module: T = await import(new URL(path, import.meta.resolve("fauxqs")).href);
  return module;
}

/** What SQS takes in a body: XML 1.0's characters, those beyond the basic plane too, which fauxqs refuses. */
const refusedCharacter = /[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/u;

export async function takeAllOfUnicode(): Promise<void> {
  const types = await queuePart<{ INVALID_MESSAGE_BODY_CHAR: RegExp }>("sqs/sqsTypes.js");
  types.INVALID_MESSAGE_BODY_CHAR.test = (body) => refusedCharacter.test(body);
}

/**
 * A message that is given back with a visibility of 0 s: fauxqs writes NULL as its receive count, which its own file
 * refuses, when it has forgotten the message already. Then nobody receives it until the next start.
 */
export function keepGivenBack(persistence: object): void {
  const { db } = persistence as { readonly db: DatabaseSync };
  const giveBack = db.prepare(
    "UPDATE sqs_messages SET receipt_handle = NULL, visibility_deadline = NULL WHERE message_id = ?",
  );
  Object.assign(persistence, { updateMessageReady: (messageId: string) => void giveBack.run(messageId) });
}
