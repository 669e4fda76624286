/** What a fleet remembers of its admissions: one item, read and written by all its functions. */
import * as z from "zod";
import { LONGEST_TASK_KEY } from "./task-key.ts";

const unixMs = z.number();
/**
 * A task's place in the batch. Without `since` the pool showed the task at the last look. With it the place is a
 * reservation: the task was admitted then, or found missing from the pool then.
 */
const placeSchema = z.object({
  since: unixMs.optional(),
  /** When a look found the reservation old. If the pool still lags behind an end, it shows the task soon. */
  doubted: unixMs.optional(),
  /** How many rollouts were admitted to it and did not give up. Only until the pool has shown the task. */
  claims: z.number().optional(),
});
export type Place = z.infer<typeof placeSchema>;

export const fleetAdmissionSchema = z.object({
  version: z.number(),
  /** Names the write: whoever lost its answer recognises it. */
  stamp: z.string(),
  /** When it was written. */
  changed_at: unixMs,
  /** The engine's, of the batch that the places are in. */
  global_step: z.number().nullable(),
  /** Keys of tasks, oldest first. */
  seen: z.array(z.string()),
  /** By task key. */
  places: z.record(z.string(), placeSchema),
  /** Since when the fleet is full in a batch in which nothing runs and no other fleet was seen at work. */
  idle_since: unixMs.optional(),
});
export type FleetAdmission = z.infer<typeof fleetAdmissionSchema>;

/** What a decision changes; the write adds its version and stamp. */
export type AdmissionState = Omit<FleetAdmission, "version" | "stamp" | "changed_at">;

/** The port to the table. Both throw what the table's client throws. */
export interface AdmissionStore {
  /** Reads what was written last. */
  read(fleet: string): Promise<FleetAdmission | undefined>;
  /** Writes `next` if the version that was left still stands (`undefined`: if there is none); false where it does not. */
  write(fleet: string, previous: FleetAdmission | undefined, next: FleetAdmission): Promise<boolean>;
}

/**
 * The item stays below DynamoDB's 400 KB (409,600 bytes) whatever the setting: a list's element costs its bytes and 1, a
 * place its key and at most 60.
 */
export const MOST_SEEN = 8000;
export const MOST_PLACES = 2400;
export const LARGEST_ITEM_BYTES =
  MOST_SEEN * (LONGEST_TASK_KEY + 1) + MOST_PLACES * (LONGEST_TASK_KEY + 60) + 2048;

export function stateOf(
  { global_step, idle_since }: AdmissionState,
  places: Map<string, Place>,
  seen: Set<string>,
): AdmissionState {
  return {
    global_step,
    seen: [...seen],
    places: Object.fromEntries(places),
    ...(idle_since === undefined ? {} : { idle_since }),
  };
}

/** What came to nothing was not seen: else it would pass later, on top of who took its place meanwhile. */
export function drop(key: string, places: Map<string, Place>, seen: Set<string>): void {
  places.delete(key);
  seen.delete(key);
}
