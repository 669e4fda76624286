/** Writing a transition down, however the table feels. */
import { describeError, isUnstorable, StoreRefusedError } from "../errors.ts";
import type { Ports } from "./context.ts";
import type { Moved, RolloutItem } from "./item.ts";
import type { NextItem } from "./transitions.ts";

export type WritePorts = Pick<Ports, "clock" | "log" | "random" | "rollouts"> & {
  /** Unix ms: no failed write is repeated later. */
  readonly writesUntil?: number;
};

/** Pauses before each further try of a write that failed; the last one is repeated while there is time. */
const PAUSES_MS = [500, 1000, 2000, 4000, 8000, 15_000];
const PATIENCE_MS = 31_000;

/**
 * Writes `next` if the item that was left still stands. A write is repeated while the table throttles or does not
 * answer, for half a minute or until `until` (unix ms), and never past `writesUntil` of the ports; one that took place although its answer was lost is recognised
 * by its stamp. What the table can never store is not tried again, and a permission that is missing is waited for no longer
 * than half a minute.
 * @throws StoreRefusedError and what the store throws
 */
export async function writeTransition(
  ports: WritePorts,
  previous: RolloutItem | undefined,
  next: NextItem,
  options: { until?: number } = {},
): Promise<Moved> {
  const stamp = `${ports.clock.now().toString(36)}-${ports.random().toString(36).slice(2, 14)}`;
  const item = { ...next, stamp };
  const patient = ports.clock.now() + PATIENCE_MS;
  const latest = Math.max(options.until ?? 0, patient);
  for (let tries = 0; ; tries += 1) {
    try {
      return await ports.rollouts.move(previous, item);
    } catch (error) {
      if (isUnstorable(error)) throw error;
      const until = error instanceof StoreRefusedError ? patient : latest;
      const pause = PAUSES_MS[Math.min(tries, PAUSES_MS.length - 1)] ?? 0;
      if (ports.clock.now() + pause > Math.min(until, ports.writesUntil ?? until)) throw error;
      ports.log("warn", "table write failed, trying again", { error: describeError(error, 300) });
      await ports.clock.sleep(pause);
    }
  }
}

/** The item that stands after a transition, whoever wrote it. */
export function currentItem(moved: Moved, previous: RolloutItem): RolloutItem {
  return moved.moved ? moved.item : (moved.found ?? previous);
}
