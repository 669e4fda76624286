/** What a fleet's functions have used, by day and in all. */
import { UpdateItemCommand } from "@aws-sdk/client-dynamodb";
import * as z from "zod";
import { ALL_TIME, type Usage, type UsageStore } from "../../core/spend/spend.ts";
import { expiresTtl, type Key, type TableOptions, toAttributes } from "./client.ts";
import { getItem } from "./conditional-put.ts";

export const usageSchema = z.object({
  gb_seconds: z.number().default(0),
  invocations: z.number().default(0),
  deliveries: z.number().default(0),
  attempts: z.number().optional(),
});
/** Days stay for a quarter. */
const KEEP_DAYS = 92;

const usageKey = (fleet: string, period: string): Key => ({ pk: `FLEET#${fleet}`, sk: `USAGE#${period}` });

export function createUsageStore({ client, once = client, table }: TableOptions): UsageStore {
  const add = async (fleet: string, period: string, usage: Usage, expires: number | undefined) =>
    await once.send(
      new UpdateItemCommand({
        TableName: table,
        Key: toAttributes(usageKey(fleet, period)),
        UpdateExpression: `SET v = :v${expires === undefined ? "" : ", expires_ttl = :expires"} ADD gb_seconds :gb, invocations :invocations, deliveries :deliveries, attempts :attempts`,
        ExpressionAttributeValues: toAttributes({
          ":v": 1,
          ":gb": usage.gb_seconds,
          ":invocations": usage.invocations,
          ":deliveries": usage.deliveries,
          ":attempts": usage.attempts ?? 0,
          ...(expires === undefined ? {} : { ":expires": expires }),
        }),
      }),
    );
  return {
    async add(fleet, day, usage) {
      await add(fleet, day, usage, expiresTtl(Date.parse(day), KEEP_DAYS));
      await add(fleet, ALL_TIME, usage, undefined);
    },
    async read(fleet, period) {
      return usageSchema.parse((await getItem({ client, table }, usageKey(fleet, period))) ?? {});
    },
  };
}
