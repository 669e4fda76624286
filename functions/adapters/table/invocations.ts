/** Running invocations: each says time and again that it lives, and takes its item away when it is done. */
import {
  BatchGetItemCommand,
  DeleteItemCommand,
  PutItemCommand,
  paginateQuery,
} from "@aws-sdk/client-dynamodb";
import * as z from "zod";
import type { Invocation, InvocationIndex, InvocationStore } from "../../core/rollout/invocation.ts";
import {
  type Attributes,
  expiresTtl,
  fromAttributes,
  type Key,
  type TableOptions,
  toAttributes,
} from "./client.ts";
import { type Condition, conditionalPut, getItem } from "./conditional-put.ts";
import { OPEN_INDEX } from "./lifecycle.ts";
import { usageSchema } from "./usage.ts";

const receipts = z.array(z.string()).optional();
const invocationSchema = z.object({
  id: z.string(),
  fleet: z.string(),
  alive_at: z.number(),
  silent_at: z.number(),
  ends_at: z.number(),
  dead_at: z.number().optional(),
  ended_at: z.number().optional(),
  waiting: receipts,
  parked: receipts,
  used: usageSchema.optional(),
});

export function invocationKey(id: string): Key {
  return { pk: `INVOCATION#${id}`, sk: "INVOCATION" };
}

/** The partition, in the index of what is open, of a fleet's invocations. */
export function invocationPartition(fleet: string): string {
  return `${fleet}#invocations`;
}

/** DynamoDB's limit. */
const KEYS_PER_CALL = 100;

export function createInvocationStore(options: TableOptions): InvocationStore & InvocationIndex {
  const { client, table } = options;
  return {
    async alive(invocation) {
      await client.send(new PutItemCommand({ TableName: table, Item: toAttributes(stored(invocation)) }));
    },
    async beat(invocation) {
      return (await conditionalPut(options, stored(invocation), isThere)).put;
    },
    async done(id) {
      const command = {
        TableName: table,
        Key: toAttributes(invocationKey(id)),
        ReturnValues: "ALL_OLD",
      } as const;
      return (await client.send(new DeleteItemCommand(command))).Attributes !== undefined;
    },
    async read(id) {
      const found = await getItem(options, invocationKey(id));
      return found && invocationSchema.parse(found);
    },
    async idsOf(fleet) {
      const query = {
        TableName: table,
        IndexName: OPEN_INDEX,
        KeyConditionExpression: "open_engine = :partition",
        ExpressionAttributeValues: toAttributes({ ":partition": invocationPartition(fleet) }),
      };
      const ids: string[] = [];
      for await (const { Items = [] } of paginateQuery({ client }, query)) ids.push(...Items.map(idOf));
      return ids;
    },
    async readAll(ids) {
      const found: Invocation[] = [];
      for (let start = 0; start < ids.length; start += KEYS_PER_CALL)
        found.push(...(await readSome(options, ids.slice(start, start + KEYS_PER_CALL))));
      return found;
    },
    async declareDead(invocation, now) {
      const dead = stored({ ...invocation, dead_at: now });
      const outcome = await conditionalPut(options, dead, {
        expression: `${isThere.expression} AND alive_at = :beat`,
        values: { ":beat": invocation.alive_at },
      });
      // A write whose answer was lost took place after all.
      return outcome.put || outcome.found?.["dead_at"] === now;
    },
  };
}

const isThere: Condition = {
  expression: "attribute_exists(pk) AND attribute_not_exists(dead_at)",
};

function stored(invocation: Invocation): Key & object {
  const item = {
    ...invocationKey(invocation.id),
    v: 1,
    ...invocation,
    open_engine: invocationPartition(invocation.fleet),
    open_until: invocation.ends_at,
    expires_ttl: expiresTtl(invocation.alive_at, 1),
  };
  return item;
}

function idOf(item: Attributes): string {
  return String(fromAttributes(item)["pk"]).slice("INVOCATION#".length);
}

/** @throws Error where DynamoDB leaves some out: who is not read must not count as gone. */
async function readSome({ client, table }: TableOptions, ids: readonly string[]): Promise<Invocation[]> {
  const found: Invocation[] = [];
  let keys = ids.map((id) => toAttributes(invocationKey(id)));
  for (let tries = 0; keys.length > 0; tries += 1) {
    if (tries === MOST_TRIES)
      throw new Error(`expected ${ids.length} invocations, ${keys.length} were left out`);
    const request = { RequestItems: { [table]: { Keys: keys, ConsistentRead: true } } };
    const { Responses = {}, UnprocessedKeys = {} } = await client.send(new BatchGetItemCommand(request));
    found.push(...(Responses[table] ?? []).map((item) => invocationSchema.parse(fromAttributes(item))));
    keys = UnprocessedKeys[table]?.Keys ?? [];
  }
  return found;
}
/** An answer holds 16 MB: forty items of the largest size. */
const MOST_TRIES = 10;
