/** What was seen of the engine's batches: one item for each fleet and step. */
import { type BatchStore, batchSeenSchema } from "../../core/rollout/batch-seen.ts";
import { expiresTtl, type Key, type TableOptions } from "./client.ts";
import { getItem, versionedPut } from "./conditional-put.ts";
import { createTrainingStore } from "./trainings.ts";

export const batchKey = (fleet: string, step: number): Key => ({ pk: `FLEET#${fleet}`, sk: `BATCH#${step}` });
/** Longer than any attempt stays open. */
const KEEP_DAYS = 2;

export function createBatchStore(options: TableOptions): BatchStore {
  return {
    trainings: createTrainingStore(options),
    async read(fleet, step) {
      const found = await getItem(options, batchKey(fleet, step));
      return found && batchSeenSchema.parse(found);
    },
    async write(fleet, previous, next) {
      const expires_ttl = expiresTtl(next.changed_at, KEEP_DAYS);
      const item = { ...batchKey(fleet, next.step), v: 1, ...next, expires_ttl };
      return await versionedPut(options, item, previous);
    },
  };
}
