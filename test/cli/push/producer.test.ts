import { SQSClient } from "@aws-sdk/client-sqs";
import { expect, test } from "vitest";
import { sendAll } from "../../../cli/push/producer.ts";
import { credentials, region } from "../../../local/region.ts";
import { sendJson, serve } from "../../support/http-server.ts";

interface Entry {
  readonly Id: string;
  readonly MessageBody: string;
}
type Answer = { Code: string; SenderFault: boolean; Message?: string } | undefined;

/** A queue that answers for each message as told: `undefined` takes it. */
async function queueThat(answers: (entry: Entry, batch: number) => Answer) {
  const batches: Entry[][] = [];
  const server = await serve((request, response) => {
    const { Entries } = request.json as { Entries: Entry[] };
    batches.push(Entries);
    const judged = Entries.map((entry) => ({ entry, answer: answers(entry, batches.length) }));
    sendJson(response, 200, {
      Successful: judged.flatMap(({ entry: { Id }, answer }) =>
        answer ? [] : [{ Id, MessageId: "m", MD5OfMessageBody: "" }],
      ),
      Failed: judged.flatMap(({ entry: { Id }, answer }) => (answer ? [{ Id, ...answer }] : [])),
    });
  });
  const client = new SQSClient({
    endpoint: server.url,
    region,
    credentials,
    md5: false,
    useQueueUrlAsEndpoint: false,
  });
  return {
    target: { client, queueUrl: `${server.url}/0/q` },
    batches,
    close: () => server[Symbol.asyncDispose](),
  };
}

const busy = { Code: "InternalError", SenderFault: false };

test("messages go in batches of ten, and of a MiB", async () => {
  const queue = await queueThat(() => undefined);
  const bodies = [
    ...Array.from({ length: 23 }, (_, count) => `m${count}`),
    "x".repeat(1_048_570),
    "y".repeat(10),
  ];
  let sent = 0;
  expect(
    await sendAll(queue.target, bodies, (count) => {
      sent += count;
    }),
  ).toEqual([]);
  expect(queue.batches.map((batch) => batch.length)).toEqual([10, 10, 3, 1, 1]);
  expect(queue.batches.flat().map(({ MessageBody }) => MessageBody)).toEqual(bodies);
  expect(sent).toBe(25);
  await queue.close();
});

test("what failed inside a batch is sent again, and nothing else", async () => {
  const queue = await queueThat(({ MessageBody }, batch) =>
    batch < 3 && /[25]/.test(MessageBody) ? busy : undefined,
  );
  let sent = 0;
  const bodies = Array.from({ length: 7 }, (_, count) => `m${count}`);
  expect(
    await sendAll(queue.target, bodies, (count) => {
      sent += count;
    }),
  ).toEqual([]);
  expect(queue.batches.map((batch) => batch.map(({ MessageBody }) => MessageBody))).toEqual([
    bodies,
    ["m2", "m5"],
    ["m2", "m5"],
  ]);
  expect(sent).toBe(7);
  await queue.close();
});

test("what the queue will never take is named at once, what stays busy after five tries", async () => {
  const queue = await queueThat(({ MessageBody }) => {
    if (MessageBody === "bad") return { Code: "InvalidMessageContents", SenderFault: true, Message: "no" };
    return MessageBody === "busy" ? busy : undefined;
  });
  let sent = 0;
  expect(
    await sendAll(queue.target, ["a", "bad", "busy"], (count) => {
      sent += count;
    }),
  ).toEqual([
    { index: 1, reason: "InvalidMessageContents: no" },
    { index: 2, reason: "InternalError" },
  ]);
  expect(queue.batches.map((batch) => batch.length)).toEqual([3, 1, 1, 1, 1]);
  expect(sent).toBe(1);
  await queue.close();
});
