/** What the queue adapter promises the domain, whichever server stands behind it. */
import { type Message, ReceiveMessageCommand, SendMessageCommand, type SQSClient } from "@aws-sdk/client-sqs";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createQueue } from "../../../../functions/adapters/queue/client.ts";
import { readDepth } from "../../../../functions/adapters/queue/depth.ts";
import type { Queue } from "../../../../functions/core/queue.ts";
import { deadLetter, MESSAGE_LIMIT_BYTES } from "../../../../functions/core/rollout/dead-letter.ts";
import { anItem, NOW } from "../../core/items.ts";

export interface QueuesUnderTest {
  /** The client that ships. */
  readonly client: SQSClient;
  /** New and empty: a queue and its dead letters. */
  create(): Promise<{ queueUrl: string; deadLetterQueueUrl: string }>;
  close(): Promise<void>;
}

/** @param differs tests that this server is known to fail, where SQS itself does what they say: see docs/compatibility.md */
export function queueContract(
  server: string,
  start: () => Promise<QueuesUnderTest>,
  differs: readonly string[] = [],
): void {
  describe(`the queue on ${server}`, () => {
    let queues: QueuesUnderTest;
    let urls: { queueUrl: string; deadLetterQueueUrl: string };
    let queue: Queue;
    beforeAll(async () => {
      queues = await start();
    });
    afterAll(async () => {
      await queues.close();
    });
    beforeEach(async () => {
      urls = await queues.create();
      queue = createQueue({ client: queues.client, ...urls });
    });

    const send = (body: string, seconds = 0) =>
      queues.client.send(
        new SendMessageCommand({ QueueUrl: urls.queueUrl, MessageBody: body, DelaySeconds: seconds }),
      );
    const receive = async (queueUrl = urls.queueUrl): Promise<Message | undefined> => {
      const { Messages = [] } = await queues.client.send(
        new ReceiveMessageCommand({
          QueueUrl: queueUrl,
          MaxNumberOfMessages: 1,
          MessageSystemAttributeNames: ["ApproximateReceiveCount"],
          MessageAttributeNames: ["All"],
        }),
      );
      return Messages[0];
    };
    const receipt = (message: Message | undefined) => message?.ReceiptHandle ?? "";
    const depth = () => readDepth(queues.client, urls.queueUrl);

    test("messages are received with what a rollout needs to know of them", async () => {
      await queues.client.send(
        new SendMessageCommand({
          QueueUrl: urls.queueUrl,
          MessageBody: "a",
          MessageAttributes: { run: { DataType: "String", StringValue: "r" } },
        }),
      );
      const [found, ...others] = await queue.receive(10, 0);
      expect(others).toEqual([]);
      expect(found).toMatchObject({ body: "a", receiveCount: 1, attributes: { run: "r" } });
      expect(Math.abs((found?.sentAt ?? 0) - Date.now())).toBeLessThan(600_000);
      await queue.delete(found?.receipt ?? "");
      expect(await depth()).toEqual({ visible: 0, in_flight: 0, delayed: 0 });
    });

    test("no more messages are received than asked for, and none from an empty queue", async () => {
      for (const body of ["a", "b", "c"]) await send(body);
      expect(await queue.receive(2, 0)).toHaveLength(2);
      expect(await queue.receive(2, 0)).toHaveLength(1);
      expect(await queue.receive(2, 0)).toEqual([]);
    });

    test("an empty queue has no depth", async () => {
      expect(await depth()).toEqual({ visible: 0, in_flight: 0, delayed: 0 });
    });

    test("the depth tells what is visible, in flight and delayed", async () => {
      for (const body of ["a", "b", "c"]) await send(body);
      await send("later", 900);
      await receive();
      expect(await depth()).toEqual({ visible: 2, in_flight: 1, delayed: 1 });
    });

    test("a deferred message stays hidden, and keeps its receive count", async () => {
      await send("a");
      await queue.defer(receipt(await receive()), 600.4);
      expect([await receive(), await depth()]).toEqual([undefined, { visible: 0, in_flight: 1, delayed: 0 }]);
    });

    test("a message deferred by no time comes back at once", async () => {
      await send("a");
      await queue.defer(receipt(await receive()), 0);
      const again = await receive();
      expect([again?.Body, again?.Attributes?.ApproximateReceiveCount]).toEqual(["a", "2"]);
    });

    test("the last deferral counts", async () => {
      await send("a");
      const handle = receipt(await receive());
      await queue.defer(handle, 600);
      await queue.defer(handle, 0);
      expect((await receive())?.Body).toBe("a");
    });

    const deletedTwice = "a message is deleted once, and deleting it again does no harm";
    (differs.includes(deletedTwice) ? test.fails : test)(deletedTwice, async () => {
      await send("a");
      const handle = receipt(await receive());
      await queue.delete(handle);
      await queue.delete(handle);
      expect(await depth()).toEqual({ visible: 0, in_flight: 0, delayed: 0 });
    });

    test("a message that is gone cannot be deferred", async () => {
      await send("a");
      const handle = receipt(await receive());
      await queue.delete(handle);
      await expect(queue.defer(handle, 5)).rejects.toThrow();
    });

    describe("a dead letter", () => {
      const record = (body: string, attributes: Record<string, string> = {}) => ({
        messageId: "m",
        receipt: "r",
        body,
        receiveCount: 1,
        sentAt: 0,
        attributes,
      });
      const facts = { reason: "agent-error" as const, error: "boom 🙂\u0000 sk-ajet-abcdef", fleet: "main" };
      const texts = (message: Message | undefined) =>
        Object.fromEntries(
          Object.entries(message?.MessageAttributes ?? {}).map(([name, { StringValue }]) => [
            name,
            StringValue,
          ]),
        );

      test("arrives with its body as it was, and with its reason", async () => {
        const body = JSON.stringify({ task_id: "語", main_query: "line\nline" });
        const rollout = anItem({ attempts: 3, key: "run/a/train/0/語" });
        await queue.sendDeadLetter(deadLetter(record(body, { own: "kept" }), { ...facts, rollout }, NOW));
        const letter = await receive(urls.deadLetterQueueUrl);
        expect(letter?.Body).toBe(body);
        expect(texts(letter)).toEqual({
          reason: "agent-error",
          fleet: "main",
          died_at: "2030-01-01T00:00:00.000Z",
          rollout: "run/a/train/0/語",
          attempts: "3",
          error: "boom \ufffd\ufffd\ufffd sk-***",
          own: "kept",
        });
        expect(await depth()).toEqual({ visible: 0, in_flight: 0, delayed: 0 });
      });

      test.each([0, 10, 100, 500])("of the largest size, less %d bytes, is taken", async (less) => {
        const body = "x".repeat(MESSAGE_LIMIT_BYTES - less);
        await queue.sendDeadLetter(deadLetter(record(body), { ...facts, rollout: anItem() }, NOW));
        expect((await receive(urls.deadLetterQueueUrl))?.Body).toHaveLength(MESSAGE_LIMIT_BYTES - less);
      });
    });
  });
}
