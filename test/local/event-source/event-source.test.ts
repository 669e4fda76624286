import { DeleteMessageCommand, SendMessageCommand } from "@aws-sdk/client-sqs";
import type { SQSEvent, SQSRecord } from "aws-lambda";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { EventSource, type EventSourceOptions } from "../../../local/event-source/event-source.ts";
import type { InvocationResult } from "../../../local/lambda/invocation.ts";
import { createQueues, type QueueServer, startQueueServer } from "../../../local/servers/queue-server.ts";
import { messageCounts, receiveNow } from "../helpers/queues.ts";

let server: QueueServer;
const sources: EventSource[] = [];
let events: SQSEvent[] = [];
let faults: string[] = [];
let url = "";
let number = 0;

beforeAll(async () => {
  server = await startQueueServer();
});
// Each test has a queue of its own: all event sources can stop at the end, together.
afterAll(async () => {
  await Promise.all(sources.map((source) => source.stop()));
  await server.close();
});
beforeEach(async () => {
  [events, faults] = [[], []];
  number += 1;
  url = await createQueue(`queue-${number}`, { visibilitySeconds: 30 });
});
async function createQueue(
  name: string,
  {
    visibilitySeconds = 30,
    redrive,
  }: { visibilitySeconds?: number; redrive?: { targetArn: string; maxReceiveCount: number } },
): Promise<string> {
  const rest = { retentionSeconds: 3_600, delaySeconds: 0, waitSeconds: 0 };
  await createQueues(server, [{ name, visibilitySeconds, redrive, ...rest }]);
  return server.url(name);
}

type Handler = (event: SQSEvent) => unknown;

/** Starts an event source whose function is `handler`: what it throws is what a failed invocation gives. */
function start(handler: Handler, options: Partial<EventSourceOptions> = {}): EventSource {
  const faultsOfThis = faults;
  const eventsOfThis = events;
  const source = new EventSource({
    client: server.client,
    queueUrl: url,
    queueArn: `arn:aws:sqs:us-east-1:000000000000:queue-${number}`,
    batchSize: 10,
    windowSeconds: 0,
    maximumConcurrency: 2,
    partialResponses: true,
    log: (message) => faultsOfThis.push(message),
    ...options,
    invoke: async (event) => {
      eventsOfThis.push(event);
      return outcome(() => handler(event));
    },
  });
  sources.push(source);
  source.start();
  return source;
}

async function outcome(run: () => unknown): Promise<InvocationResult> {
  try {
    return { status: "success", requestId: "r", payload: (await run()) ?? null };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { status: "error", requestId: "r", error: { type: "Error", message, trace: [] } };
  }
}

async function send(...bodies: string[]): Promise<void> {
  for (const body of bodies) {
    await server.client.send(new SendMessageCommand({ QueueUrl: url, MessageBody: body }));
  }
}

function records(): SQSRecord[] {
  return events.flatMap(({ Records }) => Records);
}
const bodies = () => records().map(({ body }) => body);
const counts = () => messageCounts(server.client, url);

it("hands over a message in the shape that Lambda gives it", async () => {
  const { MessageId, MD5OfMessageBody, MD5OfMessageAttributes } = await server.client.send(
    new SendMessageCommand({
      QueueUrl: url,
      MessageBody: '{"task":1}',
      MessageAttributes: {
        run: { DataType: "String", StringValue: "r1" },
        raw: { DataType: "Binary", BinaryValue: Uint8Array.of(1, 2, 3) },
      },
    }),
  );
  start(() => null);
  await expect.poll(records).toHaveLength(1);
  const sent = expect.stringMatching(/^\d{13}$/);
  expect(records()).toEqual([
    {
      messageId: MessageId,
      receiptHandle: expect.stringMatching(/./),
      body: '{"task":1}',
      attributes: {
        ApproximateReceiveCount: "1",
        SentTimestamp: sent,
        SenderId: "000000000000",
        ApproximateFirstReceiveTimestamp: sent,
      },
      messageAttributes: {
        run: { stringValue: "r1", stringListValues: [], binaryListValues: [], dataType: "String" },
        raw: { binaryValue: "AQID", stringListValues: [], binaryListValues: [], dataType: "Binary" },
      },
      md5OfBody: MD5OfMessageBody,
      md5OfMessageAttributes: MD5OfMessageAttributes,
      eventSource: "aws:sqs",
      eventSourceARN: `arn:aws:sqs:us-east-1:000000000000:queue-${number}`,
      awsRegion: "us-east-1",
    },
  ]);
});

it("deletes the messages of a batch that succeeded", async () => {
  await send("1", "2", "3");
  start(() => undefined);
  await expect.poll(counts).toEqual({ visible: 0, inFlight: 0 });
  expect(bodies().toSorted()).toEqual(["1", "2", "3"]);
});

it("deletes what succeeded and leaves what failed to the visibility timeout", async () => {
  await send("good", "bad", "fine");
  start(({ Records }) => ({
    batchItemFailures: Records.filter(({ body }) => body === "bad").map(({ messageId }) => ({
      itemIdentifier: messageId,
    })),
  }));
  await expect.poll(counts).toEqual({ visible: 0, inFlight: 1 });
  expect(bodies().toSorted()).toEqual(["bad", "fine", "good"]);
});

it.each<[string, Handler]>([
  ["an error", () => Promise.reject(new Error("broken"))],
  ["an unknown identifier", () => ({ batchItemFailures: [{ itemIdentifier: "someone else" }] })],
  ["an empty identifier", () => ({ batchItemFailures: [{ itemIdentifier: "" }] })],
  ["a misnamed identifier", ({ Records }) => ({ batchItemFailures: [{ id: Records[0]?.messageId }] })],
  ["an answer that is no object", () => "ok"],
])("deletes nothing after %s", async (_, handler) => {
  await send("1", "2");
  start(handler, { maximumConcurrency: 1 });
  await expect.poll(() => faults.length).toBe(1);
  expect(await counts()).toEqual({ visible: 0, inFlight: 2 });
});

it("deletes everything where partial responses are off, whatever the answer", async () => {
  await send("1");
  start(({ Records }) => ({ batchItemFailures: [{ itemIdentifier: Records[0]?.messageId }] }), {
    partialResponses: false,
  });
  await expect.poll(counts).toEqual({ visible: 0, inFlight: 0 });
  expect(bodies()).toEqual(["1"]);
});

it("sees a failed message again after the visibility timeout, and not after it has succeeded", async () => {
  url = await createQueue(`brief-${number}`, { visibilitySeconds: 1 });
  await send("again");
  start(({ Records }) => {
    if (Records[0]?.attributes.ApproximateReceiveCount === "1") throw new Error("not yet");
  });
  await expect.poll(counts, { timeout: 4_000 }).toEqual({ visible: 0, inFlight: 0 });
  expect(records().map(({ attributes }) => attributes.ApproximateReceiveCount)).toEqual(["1", "2"]);
});

it("lets the queue move a message to its dead-letter queue after the last receive", async () => {
  const dead = await createQueue(`dead-${number}`, {});
  const targetArn = `arn:aws:sqs:us-east-1:000000000000:dead-${number}`;
  url = await createQueue(`redrive-${number}`, {
    visibilitySeconds: 1,
    redrive: { targetArn, maxReceiveCount: 2 },
  });
  await send("hopeless");
  start(() => Promise.reject(new Error("no")));
  await expect
    .poll(() => messageCounts(server.client, dead), { timeout: 6_000 })
    .toEqual({ visible: 1, inFlight: 0 });
  expect(bodies()).toEqual(["hopeless", "hopeless"]);
});

it("is content with messages that the function has deleted itself", async () => {
  await send("1", "2");
  const started = start(async ({ Records }) => {
    for (const { receiptHandle } of Records) {
      await server.client.send(new DeleteMessageCommand({ QueueUrl: url, ReceiptHandle: receiptHandle }));
    }
  });
  await expect.poll(counts).toEqual({ visible: 0, inFlight: 0 });
  await expect.poll(() => started.running).toBe(0);
  expect(faults).toEqual([]);
});

it("never has more invocations at a time than the maximum concurrency, and reaches it", async () => {
  await send(...Array.from({ length: 12 }, (_, index) => String(index)));
  let open = 0;
  const seen: number[] = [];
  start(
    async () => {
      seen.push(++open);
      await new Promise((resolve) => setTimeout(resolve, 30));
      open -= 1;
    },
    { batchSize: 1, maximumConcurrency: 3 },
  );
  await expect.poll(counts).toEqual({ visible: 0, inFlight: 0 });
  expect(seen).toHaveLength(12);
  expect(Math.max(...seen)).toBe(3);
});

it("takes no message for which no invocation is free", async () => {
  await send("1", "2", "3");
  const { promise, resolve } = Promise.withResolvers<void>();
  start(() => promise, { batchSize: 1, maximumConcurrency: 2 });
  await expect.poll(() => events.length).toBe(2);
  expect(await counts()).toEqual({ visible: 1, inFlight: 2 });
  resolve();
  await expect.poll(counts).toEqual({ visible: 0, inFlight: 0 });
});

it("collects a batch of more than ten within the window", async () => {
  await send(...Array.from({ length: 25 }, (_, index) => String(index)));
  start(() => null, { batchSize: 25, windowSeconds: 5, maximumConcurrency: 1 });
  await expect.poll(() => events.map(({ Records }) => Records.length)).toEqual([25]);
});

it("invokes with what it has when the window is over", async () => {
  await send("early");
  start(() => null, { batchSize: 3, windowSeconds: 1, maximumConcurrency: 1 });
  await send("late");
  await expect.poll(() => events.map(({ Records }) => Records.length), { timeout: 4_000 }).toEqual([2]);
});

it("splits messages that are too large for one event", async () => {
  const large = "x".repeat(1_000_000);
  await send(...Array.from({ length: 8 }, () => large));
  start(() => null, { maximumConcurrency: 1 });
  await expect.poll(() => records().length, { timeout: 4_000 }).toBe(8);
  expect(events.map(({ Records }) => Records.length)).toEqual([6, 2]);
});

it("stops with its running invocations finished and their messages deleted", async () => {
  await send("1");
  const { promise, resolve } = Promise.withResolvers<void>();
  const stopped = start(() => promise);
  await expect.poll(() => stopped.running).toBe(1);
  const left = stopped.stop(5_000);
  resolve();
  expect(await left).toBe(0);
  expect(await counts()).toEqual({ visible: 0, inFlight: 0 });
  await send("2");
  expect(await counts()).toEqual({ visible: 1, inFlight: 0 });
});

it("says how many invocations still run when the grace is over", async () => {
  await send("1");
  const { promise, resolve } = Promise.withResolvers<void>();
  const stopped = start(() => promise);
  await expect.poll(() => stopped.running).toBe(1);
  expect(await stopped.stop(10)).toBe(1);
  resolve();
});

it("puts messages back that it received but never handed over", async () => {
  const stopped = start(() => null, { batchSize: 10, windowSeconds: 60, maximumConcurrency: 1 });
  await send("1");
  await expect.poll(counts).toEqual({ visible: 0, inFlight: 1 });
  await stopped.stop();
  expect(events).toEqual([]);
  expect((await receiveNow(server.client, url)).map(({ Body }) => Body)).toEqual(["1"]);
});

it("goes on after the queue could not be read", async () => {
  url = server.url("not-there");
  start(() => null);
  await expect.poll(() => faults.length).toBeGreaterThan(0);
  expect(faults[0]).toContain("receive: QueueDoesNotExist");
  await createQueue("not-there", {});
  await send("1");
  await expect.poll(bodies, { timeout: 4_000 }).toEqual(["1"]);
});
