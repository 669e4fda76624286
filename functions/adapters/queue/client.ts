/** A fleet's queue and its dead letters, on SQS. */
import {
  ChangeMessageVisibilityBatchCommand,
  ChangeMessageVisibilityCommand,
  DeleteMessageCommand,
  type Message,
  type MessageAttributeValue,
  ReceiveMessageCommand,
  SendMessageCommand,
  SQSClient,
} from "@aws-sdk/client-sqs";
import type { Queue, QueueRecord } from "../../core/queue.ts";

export function createQueueClient(): SQSClient {
  return new SQSClient({
    maxAttempts: 4,
    // Queue URLs carry the host that made them; the configured endpoint is the one that is reached.
    useQueueUrlAsEndpoint: false,
    requestHandler: { connectionTimeout: 2000, requestTimeout: 10_000, throwOnRequestTimeout: true },
  });
}

export interface QueueOptions {
  readonly client: SQSClient;
  readonly queueUrl: string;
  readonly deadLetterQueueUrl: string;
}

export function createQueue({ client, queueUrl, deadLetterQueueUrl }: QueueOptions): Queue {
  return {
    ...createMessages({ client, queueUrl }),
    async receive(count, waitSeconds) {
      const { Messages: messages = [] } = await client.send(
        new ReceiveMessageCommand({
          QueueUrl: queueUrl,
          MaxNumberOfMessages: Math.min(count, ENTRIES_PER_CALL),
          WaitTimeSeconds: waitSeconds,
          MessageSystemAttributeNames: ["ApproximateReceiveCount", "SentTimestamp"],
          MessageAttributeNames: ["All"],
        }),
      );
      return messages.map(queueRecord);
    },
    async sendDeadLetter({ body, attributes }) {
      await client.send(
        new SendMessageCommand({
          QueueUrl: deadLetterQueueUrl,
          MessageBody: body,
          MessageAttributes: stringAttributes(attributes),
        }),
      );
    },
  };
}

/** SQS's limit. */
const ENTRIES_PER_CALL = 10;

/** What can be done with messages that are there, for those who write no dead letters and may not. */
export function createMessages({
  client,
  queueUrl,
}: Pick<QueueOptions, "client" | "queueUrl">): Pick<Queue, "defer" | "show" | "delete"> {
  return {
    async defer(receipt, seconds) {
      await client.send(
        new ChangeMessageVisibilityCommand({
          QueueUrl: queueUrl,
          ReceiptHandle: receipt,
          VisibilityTimeout: Math.round(seconds),
        }),
      );
    },
    async show(receipts) {
      for (let start = 0; start < receipts.length; start += ENTRIES_PER_CALL) {
        const Entries = receipts.slice(start, start + ENTRIES_PER_CALL).map((receipt, index) => ({
          Id: String(index),
          ReceiptHandle: receipt,
          VisibilityTimeout: 0,
        }));
        // What is refused by entry is gone, or has been received again.
        await client.send(new ChangeMessageVisibilityBatchCommand({ QueueUrl: queueUrl, Entries }));
      }
    },
    async delete(receipt) {
      await client.send(new DeleteMessageCommand({ QueueUrl: queueUrl, ReceiptHandle: receipt }));
    },
  };
}

function queueRecord(message: Message): QueueRecord {
  const texts = Object.entries(message.MessageAttributes ?? {}).flatMap(([name, { StringValue: text }]) =>
    text === undefined ? [] : [[name, text] as const],
  );
  return {
    messageId: message.MessageId ?? "",
    receipt: message.ReceiptHandle ?? "",
    body: message.Body ?? "",
    receiveCount: Number(message.Attributes?.ApproximateReceiveCount ?? 1),
    sentAt: Number(message.Attributes?.SentTimestamp ?? 0),
    attributes: Object.fromEntries(texts),
  };
}

function stringAttributes(
  attributes: Readonly<Record<string, string>>,
): Record<string, MessageAttributeValue> {
  return Object.fromEntries(
    Object.entries(attributes).map(([name, value]) => [name, { DataType: "String", StringValue: value }]),
  );
}
