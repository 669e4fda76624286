import { GetItemCommand, PutItemCommand } from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { asRefusal } from "../../../../functions/adapters/table/refusals.ts";
import { StoreRefusedError } from "../../../../functions/core/errors.ts";
import { createTables, startTableServer, type TableServer } from "../../../../local/servers/table-server.ts";
import { refusingTable } from "../../../support/refusing-table.ts";
import { shippedClient, stateTable } from "./servers.ts";

let server: TableServer;
beforeAll(async () => {
  server = await startTableServer();
  await createTables(server, [stateTable]);
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await server.close();
});

const put = (table: string, large = 0) =>
  new PutItemCommand({
    TableName: table,
    Item: { pk: { S: "a" }, sk: { S: "b" }, large: { S: "x".repeat(large) } },
  });

test("an item that is too large is refused for good", async () => {
  const client = shippedClient(server.endpoint);
  await client.send(put("state", 400_000));
  const error = await client.send(put("state", 410_000)).catch((thrown) => thrown);
  expect(error).toBeInstanceOf(StoreRefusedError);
  expect(error).toMatchObject({ code: "store-refused", fault: "item" });
  expect(error.message).toMatch(/^the table refused PutItem: ValidationException: Item size has exceeded/);
});

test("a table that is not there is the deployment's fault", async () => {
  const client = shippedClient(server.endpoint);
  const missing = new GetItemCommand({ TableName: "none", Key: { pk: { S: "a" }, sk: { S: "b" } } });
  await expect(client.send(missing)).rejects.toMatchObject({ code: "store-refused", fault: "access" });
});

test("a throttled call passes: the client tries it again, and its error stays what it is", async () => {
  let calls = 0;
  const url = await refusingTable(server.endpoint, () => {
    calls += 1;
    return { name: "ProvisionedThroughputExceededException", message: "slow down" };
  });
  const client = shippedClient(url);
  await expect(client.send(put("state"))).rejects.toMatchObject({
    name: "ProvisionedThroughputExceededException",
  });
  expect(calls).toBe(3);
});

test.each([
  ["ThrottlingException", undefined],
  ["RequestLimitExceeded", undefined],
  ["InternalServerError", undefined],
  ["TransactionConflictException", undefined],
  ["ConditionalCheckFailedException", undefined],
  ["TimeoutError", undefined],
  ["ValidationException", "item"],
  ["ItemCollectionSizeLimitExceededException", "item"],
  ["SerializationException", "item"],
  ["AccessDeniedException", "access"],
  ["KMSAccessDeniedException", "access"],
])("%s is %s", (name, fault) => {
  const error = Object.assign(new Error("words"), { name });
  const found = asRefusal(error, "PutItem");
  if (fault === undefined) expect(found).toBe(error);
  else expect(found).toMatchObject({ fault, cause: error });
});
