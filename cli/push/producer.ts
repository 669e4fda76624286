/** Sends messages in batches of ten, and again what failed inside a batch. */
import {
  SendMessageBatchCommand,
  type SendMessageBatchRequestEntry,
  type SQSClient,
} from "@aws-sdk/client-sqs";

/** SQS takes ten messages and 1 MiB a batch. */
const BATCH_MESSAGES = 10;
const BATCH_BYTES = 1_048_576;
/** Tries for a message that fails inside its batch for a reason of the server's. */
const TRIES = 5;
/** Half of the pause before the second try; it doubles with each. */
const FIRST_PAUSE_MS = 50;

export interface SendFailure {
  readonly index: number;
  readonly reason: string;
}

/**
 * Sends all bodies; calls `onSent` with the number of messages that went through. Resolves to those that the queue
 * refused. Throws what the SDK throws when the queue cannot be reached.
 */
export async function sendAll(
  target: { client: SQSClient; queueUrl: string },
  bodies: readonly string[],
  onSent: (count: number) => void = () => undefined,
): Promise<SendFailure[]> {
  const failures: SendFailure[] = [];
  for (const batch of batches(bodies)) {
    const failed = await sendBatch(target, batch);
    onSent(batch.length - failed.length);
    failures.push(...failed);
  }
  return failures;
}

function* batches(bodies: readonly string[]): Generator<SendMessageBatchRequestEntry[]> {
  let batch: SendMessageBatchRequestEntry[] = [];
  let size = 0;
  for (const [index, body] of bodies.entries()) {
    const bytes = Buffer.byteLength(body);
    if (batch.length === BATCH_MESSAGES || (batch.length > 0 && size + bytes > BATCH_BYTES)) {
      yield batch;
      batch = [];
      size = 0;
    }
    batch.push({ Id: String(index), MessageBody: body });
    size += bytes;
  }
  if (batch.length > 0) yield batch;
}

async function sendBatch(
  { client, queueUrl }: { client: SQSClient; queueUrl: string },
  batch: SendMessageBatchRequestEntry[],
): Promise<SendFailure[]> {
  let waiting = batch;
  let refused: SendFailure[] = [];
  for (let tries = 1; waiting.length > 0; tries += 1) {
    const { Failed = [] } = await client.send(
      new SendMessageBatchCommand({ QueueUrl: queueUrl, Entries: waiting }),
    );
    const again = new Set(Failed.filter((entry) => !entry.SenderFault).map((entry) => entry.Id));
    const final = Failed.filter((entry) => entry.SenderFault || tries === TRIES);
    refused = [...refused, ...final.map((entry) => ({ index: Number(entry.Id), reason: reasonOf(entry) }))];
    waiting = tries === TRIES ? [] : waiting.filter((entry) => again.has(entry.Id));
    if (waiting.length > 0) await new Promise((resolve) => setTimeout(resolve, FIRST_PAUSE_MS * 2 ** tries));
  }
  return refused;
}

function reasonOf(entry: { Code?: string | undefined; Message?: string | undefined }): string {
  return [entry.Code, entry.Message].filter(Boolean).join(": ") || "refused without a reason";
}
