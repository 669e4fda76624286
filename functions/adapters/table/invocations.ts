/** Living invocations: each says so once a minute, and takes its item away when it is done. */
import { DeleteItemCommand, PutItemCommand } from "@aws-sdk/client-dynamodb";
import * as z from "zod";
import type { InvocationStore } from "../../core/ports.ts";
import { expiresTtl, type Key, type TableOptions, toAttributes } from "./client.ts";
import { getItem } from "./conditional-put.ts";

const invocationSchema = z.object({
  id: z.string(),
  fleet: z.string(),
  alive_at: z.number(),
  silent_at: z.number(),
  ends_at: z.number(),
});

export function invocationKey(id: string): Key {
  return { pk: `INVOCATION#${id}`, sk: "INVOCATION" };
}

export function createInvocationStore(options: TableOptions): InvocationStore {
  const { client, table } = options;
  return {
    async alive(invocation) {
      const item = {
        ...invocationKey(invocation.id),
        v: 1,
        ...invocation,
        expires_ttl: expiresTtl(invocation.alive_at, 1),
      };
      await client.send(new PutItemCommand({ TableName: table, Item: toAttributes(item) }));
    },
    async done(id) {
      await client.send(new DeleteItemCommand({ TableName: table, Key: toAttributes(invocationKey(id)) }));
    },
    async read(id) {
      const found = await getItem(options, invocationKey(id));
      return found && invocationSchema.parse(found);
    },
  };
}
