/** What a DynamoDB server must offer for the contract, and the table on it. */
import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { vi } from "vitest";
import { createTableClient } from "../../../../functions/adapters/table/client.ts";
import { credentials, region } from "../../../../local/region.ts";
import type { TableSpec } from "../../../../local/template/specs.ts";

export interface TableUnderTest {
  readonly client: DynamoDBClient;
  readonly table: string;
  close(): Promise<void>;
}
export type StartTable = () => Promise<TableUnderTest>;

/** The table as the stack deploys it, which `deployed.test.ts` makes sure of: loading the CDK takes seconds. */
export const stateTable: TableSpec = {
  name: "state",
  keys: [
    { AttributeName: "pk", KeyType: "HASH" },
    { AttributeName: "sk", KeyType: "RANGE" },
  ],
  attributes: [
    { AttributeName: "pk", AttributeType: "S" },
    { AttributeName: "sk", AttributeType: "S" },
    { AttributeName: "open_engine", AttributeType: "S" },
    { AttributeName: "open_until", AttributeType: "N" },
    { AttributeName: "changed_fleet", AttributeType: "S" },
    { AttributeName: "changed_at", AttributeType: "N" },
  ],
  indexes: [
    {
      IndexName: "open-by-expiry",
      KeySchema: [
        { AttributeName: "open_engine", KeyType: "HASH" },
        { AttributeName: "open_until", KeyType: "RANGE" },
      ],
      Projection: { ProjectionType: "INCLUDE", NonKeyAttributes: ["invocation"] },
    },
    {
      IndexName: "by-change",
      KeySchema: [
        { AttributeName: "changed_fleet", KeyType: "HASH" },
        { AttributeName: "changed_at", KeyType: "RANGE" },
      ],
      Projection: {
        ProjectionType: "INCLUDE",
        NonKeyAttributes: ["state", "episode_type", "task_id", "history", "attempts"],
      },
    },
  ],
};

/** The client that ships, which finds its server through the environment as in a function. */
export function shippedClient(endpoint: string): DynamoDBClient {
  vi.stubEnv("AWS_ENDPOINT_URL_DYNAMODB", endpoint);
  vi.stubEnv("AWS_REGION", region);
  vi.stubEnv("AWS_ACCESS_KEY_ID", credentials.accessKeyId);
  vi.stubEnv("AWS_SECRET_ACCESS_KEY", credentials.secretAccessKey);
  return createTableClient();
}
