import { BatchGetItemCommand, DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readStates, recentRollouts } from "../../cli/look-up.ts";
import { createRolloutStore } from "../../functions/adapters/table/rollouts.ts";
import { credentials, region } from "../../local/region.ts";
import { createTables, startTableServer, type TableServer } from "../../local/servers/table-server.ts";
import { stateTable } from "../functions/adapters/table/servers.ts";
import { anItem, NOW } from "../functions/core/items.ts";
import { sendJson, serve } from "../support/http-server.ts";

let server: TableServer;
const options = () => ({ client: server.client, table: stateTable.name });

beforeAll(async () => {
  server = await startTableServer();
  await createTables(server, [stateTable]);
  const store = createRolloutStore({ ...options(), ttlDays: 1 });
  const padding = "x".repeat(8000);
  for (let count = 0; count < 250; count += 1) {
    const last = {
      id: "a",
      episode: "e",
      reason: "ended" as const,
      at: 1,
      from: 0,
      step: 1,
      detail: padding,
    };
    const facts = { key: `k${count}`, task_id: `t${count % 3}`, changed_at: NOW + count, stamp: `s${count}` };
    await store.move(
      undefined,
      anItem({ ...facts, state: count % 2 ? "ended" : "waiting", history: [last] }),
    );
  }
}, 30_000);
afterAll(async () => await server.close());

test("the states of more rollouts than one call takes, those that there are", async () => {
  const keys = Array.from({ length: 260 }, (_, count) => `k${count}`);
  const states = await readStates(options(), "main", keys);
  expect(states.size).toBe(250);
  expect([states.get("k0"), states.get("k1"), states.get("k249"), states.get("k250")]).toEqual([
    "waiting",
    "ended",
    "ended",
    undefined,
  ]);
  expect((await readStates(options(), "other", keys)).size).toBe(0);
  expect((await readStates(options(), "main", [])).size).toBe(0);
});

test("what the table did not get round to is asked for again", async () => {
  let asked = 0;
  await using halting = await serve((request, response) => {
    asked += 1;
    const { RequestItems } = request.json as {
      RequestItems: Record<string, { Keys: { pk: { S: string } }[] }>;
    };
    const [first, ...rest] = RequestItems["t"]?.Keys ?? [];
    const UnprocessedKeys = rest.length > 0 ? { t: { ...RequestItems["t"], Keys: rest } } : {};
    sendJson(response, 200, {
      Responses: { t: [{ pk: first?.pk, state: { S: "ended" } }] },
      UnprocessedKeys,
    });
  });
  const client = new DynamoDBClient({ endpoint: halting.url, region, credentials });
  const states = await readStates({ client, table: "t" }, "main", ["a", "b", "c"]);
  expect([...states.keys()]).toEqual(["a", "b", "c"]);
  expect(asked).toBe(3);
  client.destroy();
});

test("the rollouts that changed last, newest first, over several pages", async () => {
  const found = await recentRollouts(options(), "main", { since: NOW, limit: 240 });
  expect(found.map(({ key }) => key)).toEqual(Array.from({ length: 240 }, (_, count) => `k${249 - count}`));
  expect(found[0]).toMatchObject({
    fleet: "main",
    state: "ended",
    task_id: "t0",
    changed_at: NOW + 249,
    attempts: 0,
  });
});

test("of a state, a task and a time", async () => {
  const wanted = { since: NOW + 100, limit: 3, state: "waiting", task: "t2" };
  const found = await recentRollouts(options(), "main", wanted);
  expect(found.map(({ key }) => key)).toEqual(["k248", "k242", "k236"]);
  const few = await recentRollouts(options(), "main", { ...wanted, since: NOW + 243, limit: 10 });
  expect(few.map(({ key }) => key)).toEqual(["k248"]);
});

test("the server under test refuses doubled keys, as DynamoDB does", async () => {
  const Keys = [1, 2].map(() => ({ pk: { S: "a" }, sk: { S: "b" } }));
  const command = new BatchGetItemCommand({ RequestItems: { [stateTable.name]: { Keys } } });
  await expect(server.client.send(command)).rejects.toThrow(/duplicates/);
});
