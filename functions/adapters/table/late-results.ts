/** Results that came when their attempt was closed: beside their rollout, one item each. */
import { QueryCommand } from "@aws-sdk/client-dynamodb";
import { type LateResult, type LateResultStore, lateResultSchema } from "../../core/rollout/late-result.ts";
import { expiresTtl, fromAttributes, type Key, type TableOptions, toAttributes } from "./client.ts";
import { conditionalPut } from "./conditional-put.ts";
import { type RolloutStoreOptions, rolloutKey } from "./rollouts.ts";

export function lateKey(fleet: string, key: string, attempt: string): Key {
  return { ...rolloutKey(fleet, key), sk: `LATE#${attempt}` };
}

export function createLateResultStore(options: RolloutStoreOptions): LateResultStore {
  return {
    async note(fleet, key, late) {
      const expires_ttl = expiresTtl(late.at, options.ttlDays);
      const item = { ...lateKey(fleet, key, late.id), ...late, expires_ttl };
      await conditionalPut(options, item, { expression: "attribute_not_exists(pk)" });
    },
  };
}

/** Oldest first. A rollout has few attempts: one page holds them. */
export async function readLateResults(
  { client, table }: TableOptions,
  fleet: string,
  key: string,
): Promise<LateResult[]> {
  const { Items = [] } = await client.send(
    new QueryCommand({
      TableName: table,
      KeyConditionExpression: "pk = :pk AND begins_with(sk, :prefix)",
      ExpressionAttributeValues: toAttributes({ ":pk": rolloutKey(fleet, key).pk, ":prefix": "LATE#" }),
    }),
  );
  return Items.map((item) => lateResultSchema.parse(fromAttributes(item))).toSorted((a, b) => a.at - b.at);
}
