import { setTimeout as delay } from "node:timers/promises";
import {
  ChangeMessageVisibilityCommand,
  DeleteMessageBatchCommand,
  type Message,
  ReceiveMessageCommand,
  type SQSClient,
} from "@aws-sdk/client-sqs";
import type { SQSEvent, SQSRecord } from "aws-lambda";
import type { InvocationResult } from "../lambda/invocation.ts";
import { judge } from "./batch-response.ts";
import { Inflight } from "./inflight.ts";
import { Slots } from "./slots.ts";
import { splitBySize, toRecord } from "./sqs-event.ts";

export interface EventSourceOptions {
  readonly client: SQSClient;
  readonly queueUrl: string;
  readonly queueArn: string;
  /** Messages per invocation; above 10 only with a window. */
  readonly batchSize: number;
  /** How long a batch that is not full may wait for more, in s. */
  readonly windowSeconds: number;
  /** Invocations at the same time. */
  readonly maximumConcurrency: number;
  /** Whether the function's answer names the messages that failed (`ReportBatchItemFailures`). */
  readonly partialResponses: boolean;
  readonly invoke: (event: SQSEvent) => Promise<InvocationResult>;
  /** Told of batches that failed and of calls to the queue that did. */
  readonly log?: (message: string) => void;
}

/** As many as Lambda starts with. */
const pollers = 5;
/** Lambda waits 20 s for a message; asking more often looks the same to a queue, and lets `stop` be quick. */
const longPollSeconds = 1;
const retryMs = 1_000;

/**
 * Lambda's event source mapping for SQS: receives, batches, invokes, and deletes what succeeded. What failed is left
 * to the queue's visibility timeout. Pollers take a message only when an invocation is free for it.
 */
export class EventSource {
  readonly #options: EventSourceOptions;
  readonly #slots: Slots;
  readonly #inflight = new Inflight();
  #polling: Promise<void>[] = [];
  #stopping = false;
  #failed = 0;

  constructor(options: EventSourceOptions) {
    this.#options = options;
    this.#slots = new Slots(options.maximumConcurrency);
  }

  /** Invocations under way. */
  get running(): number {
    return this.#inflight.size;
  }

  /** Deliveries that were not done with, and so come back. */
  get failed(): number {
    return this.#failed;
  }

  start(): void {
    const count = Math.min(pollers, this.#options.maximumConcurrency);
    this.#polling = Array.from({ length: count }, () => this.#poll());
  }

  /**
   * Receives nothing more, and waits up to `graceMs` for the invocations under way. Returns how many still run: their
   * messages come back after the visibility timeout, unless they end well before the function is stopped.
   */
  async stop(graceMs = 0): Promise<number> {
    this.#stopping = true;
    this.#slots.close();
    await Promise.all(this.#polling);
    return this.#inflight.settled(graceMs);
  }

  async #poll(): Promise<void> {
    while (await this.#slots.take()) {
      const [first, ...others] = await this.#batches();
      await this.#handOver(first);
      for (const batch of others) {
        await this.#slots.take();
        await this.#handOver(batch);
      }
    }
  }

  /** Nearly always one; two where the messages are too large for one event. */
  async #batches(): Promise<SQSRecord[][]> {
    try {
      const messages = await this.#gather();
      return splitBySize(messages.map((message) => toRecord(message, this.#options.queueArn)));
    } catch (error) {
      this.#log(`receive: ${String(error)}`);
      await delay(retryMs);
      return [];
    }
  }

  /** Gives the poller's slot to the invocation of `batch`, if there is one to make. */
  async #handOver(batch: readonly SQSRecord[] | undefined): Promise<void> {
    if (batch !== undefined && !this.#stopping) {
      const work = this.#process(batch).finally(() => this.#slots.give());
      this.#inflight.track(work, (error) => this.#log(`batch: ${String(error)}`));
      return;
    }
    this.#slots.give();
    if (batch !== undefined) await this.#putBack(batch);
  }

  async #gather(): Promise<Message[]> {
    const { batchSize, windowSeconds } = this.#options;
    const messages = await this.#receive(batchSize, longPollSeconds);
    const end = Date.now() + windowSeconds * 1000;
    while (messages.length > 0 && messages.length < batchSize && !this.#stopping) {
      const leftMs = end - Date.now();
      if (leftMs <= 0) break;
      const more = await this.#receive(batchSize - messages.length, leftMs < 1000 ? 0 : longPollSeconds);
      messages.push(...more);
      if (more.length === 0 && leftMs < 1000) await delay(Math.min(leftMs, 50));
    }
    return messages;
  }

  async #receive(count: number, waitSeconds: number): Promise<Message[]> {
    const command = new ReceiveMessageCommand({
      QueueUrl: this.#options.queueUrl,
      MaxNumberOfMessages: Math.min(count, 10),
      WaitTimeSeconds: waitSeconds,
      MessageSystemAttributeNames: ["All"],
      MessageAttributeNames: ["All"],
    });
    const { Messages = [] } = await this.#options.client.send(command);
    return Messages;
  }

  async #process(batch: readonly SQSRecord[]): Promise<void> {
    const result = await this.#options.invoke({ Records: [...batch] });
    const ids = batch.map((record) => record.messageId);
    const { succeeded, fault } = judge(result, ids, this.#options.partialResponses);
    if (fault !== undefined) this.#log(`batch of ${batch.length} failed: ${fault}`);
    this.#failed += batch.length - succeeded.size;
    await this.#delete(batch.filter((record) => succeeded.has(record.messageId)));
  }

  /** Deleting what the function has already deleted is no error. */
  async #delete(records: readonly SQSRecord[]): Promise<void> {
    for (let start = 0; start < records.length; start += 10) {
      const entries = records
        .slice(start, start + 10)
        .map(({ receiptHandle }, index) => ({ Id: String(index), ReceiptHandle: receiptHandle }));
      await this.#options.client.send(
        new DeleteMessageBatchCommand({ QueueUrl: this.#options.queueUrl, Entries: entries }),
      );
    }
  }

  /** Received, but never seen by the function: a later run need not wait for it. */
  async #putBack(records: readonly SQSRecord[]): Promise<void> {
    const { client, queueUrl } = this.#options;
    for (const { receiptHandle } of records) {
      const facts = { QueueUrl: queueUrl, ReceiptHandle: receiptHandle, VisibilityTimeout: 0 };
      await client
        .send(new ChangeMessageVisibilityCommand(facts))
        .catch((error: unknown) => this.#log(`put back: ${String(error)}`));
    }
  }

  #log(message: string): void {
    this.#options.log?.(message);
  }
}
