/** The DynamoDB client, and what every item has in common. */
import { type AttributeValue, DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { marshall, unmarshall } from "@aws-sdk/util-dynamodb";
import { storedName } from "../../core/stored-size.ts";
import { namesRefusals } from "./refusals.ts";
import { TableTime, tellsTime } from "./table-time.ts";

/**
 * Short limits and few tries: a write that fails is repeated by the domain, which knows how much time there is. SDK
 * retries of long calls would add up to the function's whole time. Throws `StoreRefusedError` for a refusal that stays.
 */
export function createTableClient({ maxAttempts = 3 } = {}): DynamoDBClient {
  const client = new DynamoDBClient({
    maxAttempts,
    requestHandler: { connectionTimeout: 2000, requestTimeout: 5000, throwOnRequestTimeout: true },
  });
  return namesRefusals(client);
}

export interface TableOptions {
  readonly client: DynamoDBClient;
  readonly table: string;
  /** Sends each request once, for what would count twice: a repeat after a lost answer adds again. Default: `client`. */
  readonly once?: DynamoDBClient;
}

/** With the clients of a function, whose answers tell `time`. */
export function tableOptions(table: string, time = new TableTime()): Required<TableOptions> {
  const [client, once] = [createTableClient(), createTableClient({ maxAttempts: 1 })];
  return { client: tellsTime(client, time), once: tellsTime(once, time), table };
}

export type Key = { pk: string; sk: string };
export type Attributes = Record<string, AttributeValue>;

/**
 * Numbers above 2^53 are taken as the doubles that they are in JSON, there and back. What DynamoDB would refuse is brought
 * to the nearest that it takes: a number out of its range, half a surrogate pair, a name that is empty or too long.
 */
export function toAttributes(item: object): Attributes {
  return marshall(storable(item), {
    removeUndefinedValues: true,
    allowImpreciseNumbers: true,
  }) as Attributes;
}

export function fromAttributes(attributes: Attributes): Record<string, unknown> {
  return unmarshall(attributes, { wrapNumbers: Number });
}

/** DynamoDB refuses numbers that are nearer to zero, except zero itself, and those that are further away than the other. */
const SMALLEST_NUMBER = 1e-130;
const LARGEST_NUMBER = 9.99999999999999e125;

function storable(value: unknown): unknown {
  if (typeof value === "number") return withinRange(value);
  if (typeof value === "string") return value.toWellFormed();
  if (Array.isArray(value)) return value.map(storable);
  if (typeof value !== "object" || value === null) return value;
  // Maps: of an object the client asks for its constructor, and there is a task of that name.
  return new Map(Object.entries(value).map(([name, part]) => [storedName(name), storable(part)]));
}

function withinRange(value: number): number {
  if (Math.abs(value) < SMALLEST_NUMBER) return 0;
  return Math.abs(value) > LARGEST_NUMBER ? Math.sign(value) * LARGEST_NUMBER : value;
}

const DAY_SECONDS = 86_400;
/** The TTL attribute: epoch seconds. */
export function expiresTtl(nowMs: number, days: number): number {
  return Math.floor(nowMs / 1000) + days * DAY_SECONDS;
}
