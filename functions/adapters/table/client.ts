/** The DynamoDB client, and what every item has in common. */
import { type AttributeValue, DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { marshall, unmarshall } from "@aws-sdk/util-dynamodb";

/**
 * Short limits and few tries: a write that fails is repeated by the domain, which knows how much time there is. SDK
 * retries of long calls would add up to the function's whole time.
 */
export function createTableClient(): DynamoDBClient {
  return new DynamoDBClient({
    maxAttempts: 3,
    requestHandler: { connectionTimeout: 2000, requestTimeout: 5000, throwOnRequestTimeout: true },
  });
}

export interface TableOptions {
  readonly client: DynamoDBClient;
  readonly table: string;
}

export type Key = { pk: string; sk: string };
export type Attributes = Record<string, AttributeValue>;

export function toAttributes(item: object): Attributes {
  return marshall(item, { removeUndefinedValues: true }) as Attributes;
}

export function fromAttributes(attributes: Attributes): Record<string, unknown> {
  return unmarshall(attributes);
}

const DAY_SECONDS = 86_400;
/** The TTL attribute: epoch seconds. */
export function expiresTtl(nowMs: number, days: number): number {
  return Math.floor(nowMs / 1000) + days * DAY_SECONDS;
}
