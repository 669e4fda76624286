/** A fleet's queue and dead letters, as the event source and an operator see them. */
import {
  ChangeMessageVisibilityCommand,
  type Message,
  ReceiveMessageCommand,
  type SQSClient,
} from "@aws-sdk/client-sqs";
import { sendAll } from "../../cli/push/producer.ts";
import type { QueueRecord } from "../../functions/core/queue.ts";
import { messageCounts } from "../local/helpers/queues.ts";

export interface QueueUrls {
  readonly queueUrl: string;
  readonly deadLetterQueueUrl: string;
}

export class FleetMessages {
  readonly queueUrl: string;
  readonly deadLetterQueueUrl: string;
  readonly #sqs: SQSClient;

  constructor(client: SQSClient, { queueUrl, deadLetterQueueUrl }: QueueUrls) {
    this.#sqs = client;
    this.queueUrl = queueUrl;
    this.deadLetterQueueUrl = deadLetterQueueUrl;
  }

  async push(...bodies: string[]): Promise<void> {
    const refused = await sendAll({ client: this.#sqs, queueUrl: this.queueUrl }, bodies);
    if (refused.length > 0) throw new Error(`the queue refused ${JSON.stringify(refused)}`);
  }

  /** Messages as the event source hands them over. */
  async receive(count = 1): Promise<QueueRecord[]> {
    const records: QueueRecord[] = [];
    while (records.length < count) {
      const found = await this.#receiveFrom(this.queueUrl, Math.min(10, count - records.length), 2);
      if (found.length === 0) throw new Error(`expected ${count} messages, found ${records.length}`);
      records.push(...found.map(recordOf));
    }
    return records;
  }

  /** Makes messages visible now, whatever they had been deferred by. */
  async release(records: readonly QueueRecord[]): Promise<void> {
    for (const { receipt: ReceiptHandle } of records)
      await this.#sqs.send(
        new ChangeMessageVisibilityCommand({
          QueueUrl: this.queueUrl,
          ReceiptHandle,
          VisibilityTimeout: 0,
        }),
      );
  }

  /** Messages of the work queue. */
  async counts(): Promise<{ visible: number; inFlight: number }> {
    return await messageCounts(this.#sqs, this.queueUrl);
  }

  /** The dead letters so far, each with its attributes as texts; they are not seen twice. */
  async letters(): Promise<{ body: string; facts: Record<string, string> }[]> {
    const letters = await this.#receiveFrom(this.deadLetterQueueUrl, 10, 0);
    return letters.map((letter) => ({ body: letter.Body ?? "", facts: textsOf(letter) }));
  }

  async #receiveFrom(queueUrl: string, count: number, waitSeconds: number): Promise<Message[]> {
    const { Messages = [] } = await this.#sqs.send(
      new ReceiveMessageCommand({
        QueueUrl: queueUrl,
        MaxNumberOfMessages: count,
        WaitTimeSeconds: waitSeconds,
        MessageSystemAttributeNames: ["All"],
        MessageAttributeNames: ["All"],
      }),
    );
    return Messages;
  }
}

function recordOf(message: Message): QueueRecord {
  return {
    messageId: message.MessageId ?? "",
    receipt: message.ReceiptHandle ?? "",
    body: message.Body ?? "",
    receiveCount: Number(message.Attributes?.ApproximateReceiveCount),
    sentAt: Number(message.Attributes?.SentTimestamp),
    attributes: textsOf(message),
  };
}

function textsOf({ MessageAttributes = {} }: Message): Record<string, string> {
  return Object.fromEntries(
    Object.entries(MessageAttributes).map(([name, { StringValue = "" }]) => [name, StringValue]),
  );
}
