import { mkdtemp, rm } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { GetItemCommand, ListTablesCommand, PutItemCommand, QueryCommand } from "@aws-sdk/client-dynamodb";
import {
  ChangeMessageVisibilityCommand,
  GetQueueAttributesCommand,
  SendMessageCommand,
} from "@aws-sdk/client-sqs";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { type Servers, startServers } from "../../../local/servers/servers.ts";
import type { QueueSpec, TableSpec } from "../../../local/template/specs.ts";
import { receiveNow } from "../helpers/queues.ts";

const queue = (name: string, redrive?: QueueSpec["redrive"]): QueueSpec => ({
  name,
  visibilitySeconds: 77,
  retentionSeconds: 3_600,
  delaySeconds: 0,
  waitSeconds: 0,
  redrive,
});
const table: TableSpec = {
  name: "state",
  keys: [{ AttributeName: "pk", KeyType: "HASH" }],
  attributes: [
    { AttributeName: "pk", AttributeType: "S" },
    { AttributeName: "open", AttributeType: "S" },
  ],
  indexes: [
    {
      IndexName: "open",
      KeySchema: [{ AttributeName: "open", KeyType: "HASH" }],
      Projection: { ProjectionType: "KEYS_ONLY" },
    },
  ],
};
const dead = queue("dead");
const work = queue("work", { targetArn: "arn:aws:sqs:us-east-1:000000000000:dead", maxReceiveCount: 5 });

let directory = "";
let servers: Servers | undefined;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "servers-"));
});
afterEach(async () => {
  await servers?.close();
  servers = undefined;
});
afterAll(() => rm(directory, { recursive: true }));

async function start(keep?: string, specs = { work, table }): Promise<Servers> {
  servers = await startServers(
    {
      assembly: { stackName: "Demo", uniquePart: "", resources: {}, parameters: {}, assets: new Map() },
      // The queue that redrives stands first: the order in a template means nothing.
      queues: new Map([
        ["Work", specs.work],
        ["Dead", dead],
      ]),
      tables: new Map([["State", specs.table]]),
    },
    keep === undefined ? undefined : join(directory, keep),
  );
  return servers;
}

function url(of: Servers): string {
  return of.queueUrls.get("Work") ?? "";
}

async function put(of: Servers, item: Record<string, { S: string }>): Promise<void> {
  await of.tables.client.send(new PutItemCommand({ TableName: "state", Item: item }));
}

async function get(of: Servers, pk: string): Promise<unknown> {
  const { Item } = await of.tables.client.send(
    new GetItemCommand({ TableName: "state", Key: { pk: { S: pk } } }),
  );
  return Item;
}

it("makes the queues with their attributes, on the loopback address", async () => {
  const started = await start();
  expect(url(started)).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/000000000000\/work$/);
  const { Attributes } = await started.queues.client.send(
    new GetQueueAttributesCommand({ QueueUrl: url(started), AttributeNames: ["All"] }),
  );
  expect(Attributes).toMatchObject({
    VisibilityTimeout: "77",
    MessageRetentionPeriod: "3600",
    QueueArn: "arn:aws:sqs:us-east-1:000000000000:work",
  });
  expect(JSON.parse(Attributes?.RedrivePolicy ?? "")).toEqual({
    deadLetterTargetArn: "arn:aws:sqs:us-east-1:000000000000:dead",
    maxReceiveCount: 5,
  });
});

it("makes the tables with their sparse indexes", async () => {
  const started = await start();
  await put(started, { pk: { S: "1" }, open: { S: "yes" }, state: { S: "x" } });
  await put(started, { pk: { S: "2" }, state: { S: "y" } });
  const { Items } = await started.tables.client.send(
    new QueryCommand({
      TableName: "state",
      IndexName: "open",
      KeyConditionExpression: "#open = :yes",
      ExpressionAttributeNames: { "#open": "open" },
      ExpressionAttributeValues: { ":yes": { S: "yes" } },
    }),
  );
  expect(Items).toEqual([{ pk: { S: "1" }, open: { S: "yes" } }]);
});

it("keeps messages and items in a directory, and nothing without one", async () => {
  for (const [keep, kept] of [
    ["kept", true],
    [undefined, false],
  ] as const) {
    const first = await start(keep);
    await put(first, { pk: { S: "1" }, state: { S: "x" } });
    await first.queues.client.send(new SendMessageCommand({ QueueUrl: url(first), MessageBody: "hello" }));
    await first.close();
    const second = await start(keep);
    expect(await get(second, "1")).toEqual(kept ? { pk: { S: "1" }, state: { S: "x" } } : undefined);
    expect((await receiveNow(second.queues.client, url(second))).map(({ Body }) => Body)).toEqual(
      kept ? ["hello"] : [],
    );
    await second.close();
  }
  servers = undefined;
});

it("brings a kept queue up to date with a changed template", async () => {
  await (await start("changed")).close();
  const started = await start("changed", { work: { ...work, visibilitySeconds: 5 }, table });
  const { Attributes } = await started.queues.client.send(
    new GetQueueAttributesCommand({ QueueUrl: url(started), AttributeNames: ["All"] }),
  );
  expect(Attributes?.VisibilityTimeout).toBe("5");
});

it("receives a kept message again at once when it is given back with 0 s, and counts on", async () => {
  const first = await start("back");
  await first.queues.client.send(new SendMessageCommand({ QueueUrl: url(first), MessageBody: "back" }));
  for (const count of ["1", "2", "3"]) {
    const [message] = await receiveNow(first.queues.client, url(first));
    expect(message).toMatchObject({ Body: "back", Attributes: { ApproximateReceiveCount: count } });
    await first.queues.client.send(
      new ChangeMessageVisibilityCommand({
        QueueUrl: url(first),
        ReceiptHandle: message?.ReceiptHandle,
        VisibilityTimeout: 0,
      }),
    );
  }
  await first.close();
  const second = await start("back");
  const [message] = await receiveNow(second.queues.client, url(second));
  expect(message).toMatchObject({ Body: "back", Attributes: { ApproximateReceiveCount: "4" } });
});

it.each(["", "back"])(
  "takes any character that XML has in a body, and refuses the rest (kept: %j)",
  async (kept) => {
    const { queues } = await start(kept === "" ? undefined : `unicode-${kept}`);
    const QueueUrl = queues.url("work");
    const send = (MessageBody: string) =>
      queues.client.send(new SendMessageCommand({ QueueUrl, MessageBody }));
    await send("\u{1f600} \u{10ffff}");
    const [message] = await receiveNow(queues.client, QueueUrl);
    expect(message?.Body).toBe("\u{1f600} \u{10ffff}");
    for (const refused of ["\u0000", "\ufffe", "\u000b"])
      await expect(send(refused)).rejects.toThrow("Invalid characters found");
  },
);

it("refuses a kept table of another shape", async () => {
  await (await start("shape")).close();
  servers = undefined;
  await expect(
    start("shape", { work, table: { ...table, indexes: [], attributes: table.attributes.slice(0, 1) } }),
  ).rejects.toThrow(
    "Expected the kept table state to have pk, found pk; open: open. Keep this run in another directory.",
  );
});

it("refuses a directory that another run is using, and takes it once that has ended", async () => {
  const first = await start("shared");
  await expect(start("shared")).rejects.toThrow("shared to be free, found it in use by another run.");
  await first.close();
  await start("shared");
});

it("closes in the middle of requests", async () => {
  const started = await start();
  const puts = Array.from({ length: 50 }, (_, index) => put(started, { pk: { S: String(index) } }));
  // Closing cuts the connections; what counts is that the work behind them does no harm.
  const outcomes = Promise.allSettled(puts);
  await Promise.any(puts);
  await started.close();
  servers = undefined;
  expect(await outcomes).toHaveLength(50);
});

it("survives a client that dies in the middle of a request", async () => {
  const started = await start();
  const socket = connect(Number(new URL(started.tables.endpoint).port), "127.0.0.1");
  const request =
    "POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-amz-json-1.0\r\nContent-Length: 99\r\n\r\n{";
  await new Promise((resolve) => socket.write(request, resolve));
  await new Promise((resolve) => socket.on("close", resolve).resetAndDestroy());
  const { TableNames } = await started.tables.client.send(new ListTablesCommand());
  expect(TableNames).toEqual(["state"]);
});
