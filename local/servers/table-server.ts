import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import {
  CreateTableCommand,
  DescribeTableCommand,
  DynamoDBClient,
  ResourceInUseException,
  type TableDescription,
} from "@aws-sdk/client-dynamodb";
import dynalite from "dynalite";
import { credentials, region } from "../region.ts";
import type { TableSpec } from "../template/specs.ts";

export interface TableServer {
  readonly endpoint: string;
  readonly client: DynamoDBClient;
  close(): Promise<void>;
}

/** Starts a DynamoDB server on a free loopback port: in memory, or kept on disk in the directory `path`. */
export async function startTableServer(path?: string): Promise<TableServer> {
  const server = dynalite({
    ...(path === undefined ? {} : { path }),
    createTableMs: 0,
    updateTableMs: 0,
    deleteTableMs: 0,
  });
  surviveBrokenRequests(server);
  const requests = countRequests(server);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = new DynamoDBClient({ endpoint, region, credentials });
  return { endpoint, client, close: () => close(server, client, requests) };
}

/** Creates the tables; one that is kept from an earlier run must have the same keys and indexes. */
export async function createTables(server: TableServer, tables: Iterable<TableSpec>): Promise<void> {
  for (const table of tables) {
    const created = await create(server.client, table);
    const description = await active(server.client, table.name);
    if (!created) checkKept(table, description);
  }
}

/** False where the table is there already. */
async function create(client: DynamoDBClient, table: TableSpec): Promise<boolean> {
  const indexes = table.indexes.map(({ Projection: { NonKeyAttributes, ProjectionType }, ...index }) => ({
    ...index,
    Projection: { ProjectionType, ...(NonKeyAttributes && { NonKeyAttributes }) },
  }));
  const command = new CreateTableCommand({
    TableName: table.name,
    BillingMode: "PAY_PER_REQUEST",
    KeySchema: table.keys,
    AttributeDefinitions: table.attributes,
    ...(indexes.length > 0 && { GlobalSecondaryIndexes: indexes }),
  });
  try {
    await client.send(command);
    return true;
  } catch (error) {
    if (error instanceof ResourceInUseException) return false;
    throw error;
  }
}

async function active(client: DynamoDBClient, name: string): Promise<TableDescription> {
  for (;;) {
    const { Table } = await client.send(new DescribeTableCommand({ TableName: name }));
    if (Table?.TableStatus === "ACTIVE") return Table;
    await delay(5);
  }
}

function checkKept(table: TableSpec, kept: TableDescription): void {
  const expected = shape(table.keys, table.indexes);
  const found = shape(kept.KeySchema ?? [], kept.GlobalSecondaryIndexes ?? []);
  if (expected === found) return;
  throw new Error(
    `Expected the kept table ${table.name} to have ${expected}, found ${found}. Keep this run in another directory.`,
  );
}

interface Key {
  AttributeName?: string | undefined;
}
interface Index {
  IndexName?: string | undefined;
  KeySchema?: Key[] | undefined;
}

/** As `pk, sk; open: open, expires`. */
function shape(keys: Key[], indexes: Index[]): string {
  const names = (of: Key[]) => of.map(({ AttributeName }) => AttributeName).join(", ");
  const lines = indexes.map((index) => `${index.IndexName}: ${names(index.KeySchema ?? [])}`);
  return [names(keys), ...lines.toSorted()].join("; ");
}

/** dynalite throws, and with it ends this process, when a client dies in the middle of a request. */
function surviveBrokenRequests(server: Server): void {
  server.on("request", (request) => request.removeAllListeners("error"));
}

/** How many requests dynalite is working on, also for clients that are gone by now. */
function countRequests(server: Server): { readonly open: number } {
  const requests = { open: 0 };
  server.prependListener("request", (request, response) => {
    request.once("end", () => {
      requests.open += 1;
      response.end = new Proxy(response.end, {
        apply: (end, response, values) => {
          requests.open -= 1;
          return Reflect.apply(end, response, values);
        },
      });
    });
  });
  return requests;
}

async function close(
  server: Server,
  client: DynamoDBClient,
  requests: { readonly open: number },
): Promise<void> {
  client.destroy();
  // A request that goes on after the store is closed would be another uncaught exception.
  for (let waits = 0; requests.open > 0 && waits < 200; waits++) await delay(5);
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.close((error) => (error ? reject(error) : resolve()));
  server.closeAllConnections();
  await promise;
}
