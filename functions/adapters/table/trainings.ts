/** Which trainings of the engine have ended: one item for each fleet. */
import { type TrainingStore, trainingSeenSchema } from "../../core/rollout/training-seen.ts";
import { expiresTtl, type Key, type TableOptions } from "./client.ts";
import { getItem, versionedPut } from "./conditional-put.ts";

export const trainingKey = (fleet: string): Key => ({ pk: `FLEET#${fleet}`, sk: "TRAINING" });
/** Longer than any attempt stays open. */
const KEEP_DAYS = 2;

export function createTrainingStore(options: TableOptions): TrainingStore {
  return {
    async read(fleet) {
      const found = await getItem(options, trainingKey(fleet));
      return found && trainingSeenSchema.parse(found);
    },
    async write(fleet, previous, next) {
      const item = { ...trainingKey(fleet), v: 1, ...next, expires_ttl: expiresTtl(next.at, KEEP_DAYS) };
      return await versionedPut(options, item, previous);
    },
  };
}
