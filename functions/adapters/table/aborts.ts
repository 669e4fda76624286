/** Aborts that may be pending at the engine: one small item per attempt whose episode was aborted. */
import type { AbortStore } from "../../core/rollout/give-back.ts";
import { expiresTtl, type Key, type TableOptions } from "./client.ts";
import { conditionalPut } from "./conditional-put.ts";

export const abortKey = (fleet: string, attempt: string): Key => ({
  pk: `FLEET#${fleet}`,
  sk: `ABORT#${attempt}`,
});
const KEEP_DAYS = 1;

export function createAbortStore(options: TableOptions): AbortStore {
  return {
    async take(fleet, attempt, now, unlessSince) {
      const item = {
        ...abortKey(fleet, attempt),
        v: 1,
        sent_at: now,
        expires_ttl: expiresTtl(now, KEEP_DAYS),
      };
      const { put } = await conditionalPut(options, item, {
        expression: "attribute_not_exists(pk) OR sent_at < :since",
        values: { ":since": unlessSince },
      });
      return put;
    },
    async release(fleet, attempt) {
      // Time 0 is as good as no item, and needs no permission to delete.
      const item = { ...abortKey(fleet, attempt), v: 1, sent_at: 0, expires_ttl: expiresTtl(0, KEEP_DAYS) };
      await conditionalPut(options, item, { expression: "attribute_exists(pk)" });
    },
  };
}
