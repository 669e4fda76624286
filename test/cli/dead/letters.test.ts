import { randomUUID } from "node:crypto";
import { SendMessageCommand, SQSClient } from "@aws-sdk/client-sqs";
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from "vitest";
import {
  allLetters,
  type Letter,
  type LetterQueue,
  purge,
  removeLetter,
  sendAgain,
  showAgain,
} from "../../../cli/dead/letters.ts";
import { credentials, region } from "../../../local/region.ts";
import { createQueues, type QueueServer, startQueueServer } from "../../../local/servers/queue-server.ts";
import { messageCounts, receiveNow } from "../../local/helpers/queues.ts";
import { sendJson, serve } from "../../support/http-server.ts";

let server: QueueServer;
let letters: LetterQueue;
let work: LetterQueue;

beforeAll(async () => {
  server = await startQueueServer();
});
afterAll(async () => await server.close());
beforeEach(async () => {
  const make = async () => {
    const name = randomUUID();
    const spec = { visibilitySeconds: 30, retentionSeconds: 345_600, delaySeconds: 0, waitSeconds: 0 };
    await createQueues(server, [{ ...spec, name, redrive: undefined }]);
    return { client: server.client, queueUrl: server.url(name) };
  };
  [letters, work] = await Promise.all([make(), make()]);
});

async function send(
  MessageBody: string,
  attributes: Record<string, string | Uint8Array> = {},
): Promise<void> {
  const MessageAttributes = Object.fromEntries(
    Object.entries(attributes).map(([name, value]) => [
      name,
      typeof value === "string"
        ? { DataType: "String", StringValue: value }
        : { DataType: "Binary", BinaryValue: value },
    ]),
  );
  await server.client.send(
    new SendMessageCommand({ QueueUrl: letters.queueUrl, MessageBody, MessageAttributes }),
  );
}

async function all(hideSeconds: number): Promise<Letter[]> {
  const found: Letter[] = [];
  for await (const some of allLetters(letters, hideSeconds)) found.push(...some);
  return found;
}
const visible = async () => (await messageCounts(server.client, letters.queueUrl)).visible;

test("each letter is given once, though it may be received again meanwhile", async () => {
  for (let count = 0; count < 13; count += 1) await send(`letter ${count}`, { reason: "deadline" });
  const found = await all(0);
  expect(found.map(({ body }) => body).sort()).toEqual(
    Array.from({ length: 13 }, (_, count) => `letter ${count}`).sort(),
  );
  expect(found[0]).toMatchObject({
    attributes: { reason: "deadline" },
    messageId: expect.stringMatching(/^[0-9a-f-]{36}$/),
  });
  expect(Math.abs(Date.now() - (found[0]?.sentAt ?? 0))).toBeLessThan(60_000);
});

test("what was received stays hidden until it is shown again", async () => {
  for (let count = 0; count < 12; count += 1) await send(`letter ${count}`);
  const found = await all(600);
  expect(await visible()).toBe(0);
  await showAgain(
    letters,
    found.map(({ receipt }) => receipt),
  );
  expect(await visible()).toBe(12);
});

test("a letter is sent again as it was, without Sortie's attributes", async () => {
  await send("the body", {
    reason: "deadline",
    episodes: "e1",
    own: "kept",
    bytes: new Uint8Array([0, 255]),
  });
  const [letter] = await all(60);
  if (!letter) throw new Error("expected a letter");
  await sendAgain({ ...letters, queueUrl: work.queueUrl }, letter);
  expect(await visible()).toBe(0);
  await removeLetter(letters, letter);
  const [message] = await receiveNow(server.client, work.queueUrl);
  expect(message?.Body).toBe("the body");
  expect(Object.keys(message?.MessageAttributes ?? {}).sort()).toEqual(["bytes", "own"]);
  expect(Array.from(message?.MessageAttributes?.["bytes"]?.BinaryValue ?? [])).toEqual([0, 255]);
  await showAgain(letters, []);
  expect(await messageCounts(server.client, letters.queueUrl)).toEqual({ visible: 0, inFlight: 0 });
});

test("purging takes all", async () => {
  await send("a");
  await send("b");
  await purge(letters);
  expect(await visible()).toBe(0);
});

/** SQS as it answers a purge: `lost` breaks so many connections first, as if the answer got lost. */
async function purging(lost: number): Promise<LetterQueue> {
  let broken = 0;
  const sqs = await serve((_, response) => {
    broken += 1;
    if (broken <= lost) {
      response.destroy();
      return;
    }
    response.setHeader("x-amzn-query-error", "AWS.SimpleQueueService.PurgeQueueInProgress;Sender");
    sendJson(response, 400, { __type: "com.amazonaws.sqs#PurgeQueueInProgress", message: "60 seconds" });
  });
  onTestFinished(() => sqs[Symbol.asyncDispose]());
  const client = new SQSClient({ region, credentials, endpoint: sqs.url });
  return { client, queueUrl: `${sqs.url}/111122223333/dead` };
}

test("a purge whose answer was lost is under way: it is no failure", async () => {
  await expect(purge(await purging(1))).resolves.toBeUndefined();
});

test("a purge that somebody else has begun is told", async () => {
  await expect(purge(await purging(0))).rejects.toThrow("60 seconds");
});
