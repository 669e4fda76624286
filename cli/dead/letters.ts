/** Dead letters as people handle them: looked at, sent back, removed. */
import {
  ChangeMessageVisibilityBatchCommand,
  DeleteMessageCommand,
  type Message,
  type MessageAttributeValue,
  PurgeQueueCommand,
  ReceiveMessageCommand,
  SendMessageCommand,
  type SQSClient,
  SQSServiceException,
} from "@aws-sdk/client-sqs";
import { isLetterAttribute } from "../../functions/core/rollout/dead-letter.ts";

export interface LetterQueue {
  readonly client: SQSClient;
  readonly queueUrl: string;
}

export interface Letter {
  readonly messageId: string;
  readonly receipt: string;
  readonly body: string;
  /** Those that are text. */
  readonly attributes: Readonly<Record<string, string>>;
  /** All, as the queue has them. */
  readonly raw: Readonly<Record<string, MessageAttributeValue>>;
  /** Unix ms of its sending. */
  readonly sentAt: number;
}

/**
 * Every letter once, in batches. Each stays hidden for `hideSeconds`, then it can be received again; nothing is removed.
 * Ends when the queue has nothing more, or only what has been given already.
 */
export async function* allLetters(queue: LetterQueue, hideSeconds: number): AsyncGenerator<Letter[]> {
  const known = new Set<string>();
  for (;;) {
    const letters = (await receive(queue, hideSeconds)).filter(({ messageId }) => !known.has(messageId));
    if (letters.length === 0) return;
    for (const { messageId } of letters) known.add(messageId);
    yield letters;
  }
}

async function receive({ client, queueUrl }: LetterQueue, hideSeconds: number): Promise<Letter[]> {
  const { Messages = [] } = await client.send(
    new ReceiveMessageCommand({
      QueueUrl: queueUrl,
      MaxNumberOfMessages: 10,
      VisibilityTimeout: hideSeconds,
      // Long polling asks all of SQS's servers, so that nothing means nothing.
      WaitTimeSeconds: 1,
      MessageAttributeNames: ["All"],
      MessageSystemAttributeNames: ["SentTimestamp"],
    }),
  );
  return Messages.map(letterOf);
}

function letterOf(message: Message): Letter {
  const raw = message.MessageAttributes ?? {};
  const texts = Object.entries(raw).flatMap(([name, { StringValue }]) =>
    StringValue === undefined ? [] : [[name, StringValue] as const],
  );
  return {
    messageId: message.MessageId ?? "",
    receipt: message.ReceiptHandle ?? "",
    body: message.Body ?? "",
    attributes: Object.fromEntries(texts),
    raw,
    sentAt: Number(message.Attributes?.SentTimestamp ?? 0),
  };
}

/** SQS's limit. */
const ENTRIES_PER_CALL = 10;

/** Lets others receive the letters at once. One that cannot be shown comes back by itself. */
export async function showAgain(
  { client, queueUrl }: LetterQueue,
  receipts: readonly string[],
): Promise<void> {
  for (let start = 0; start < receipts.length; start += ENTRIES_PER_CALL) {
    const some = receipts.slice(start, start + ENTRIES_PER_CALL);
    const entries = some.map((receipt, index) => ({
      Id: String(index),
      ReceiptHandle: receipt,
      VisibilityTimeout: 0,
    }));
    await client.send(new ChangeMessageVisibilityBatchCommand({ QueueUrl: queueUrl, Entries: entries }));
  }
}

/** Sends the original message: the same body, and the attributes that are not Sortie's. */
export async function sendAgain({ client, queueUrl }: LetterQueue, { body, raw }: Letter): Promise<void> {
  const own = Object.fromEntries(Object.entries(raw).filter(([name]) => !isLetterAttribute(name)));
  await client.send(
    new SendMessageCommand({ QueueUrl: queueUrl, MessageBody: body, MessageAttributes: own }),
  );
}

export async function removeLetter({ client, queueUrl }: LetterQueue, { receipt }: Letter): Promise<void> {
  await client.send(new DeleteMessageCommand({ QueueUrl: queueUrl, ReceiptHandle: receipt }));
}

/** Removes all that the queue holds. SQS takes up to a minute over it, and refuses another purge meanwhile. */
export async function purge({ client, queueUrl }: LetterQueue): Promise<void> {
  try {
    await client.send(new PurgeQueueCommand({ QueueUrl: queueUrl }));
  } catch (error) {
    if (!isOwnPurge(error)) throw error;
  }
}

/** The SDK repeats a request whose answer was lost: the purge that is under way then is this one. */
function isOwnPurge(error: unknown): boolean {
  return (
    error instanceof SQSServiceException &&
    /PurgeQueueInProgress$/.test(error.name) &&
    (error.$metadata.attempts ?? 1) > 1
  );
}
