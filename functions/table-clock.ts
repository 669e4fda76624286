import type { TableTime } from "./adapters/table/table-time.ts";
import type { Clock } from "./core/clock.ts";
import { systemClock } from "./system-clock.ts";

export interface TableClock extends Clock {
  /** What the clock adds to the machine's time, ms. */
  readonly offsetMs: number;
  /**
   * Corrects the clock by what the table has said, and asks it by `ask` where it has said nothing yet. At the beginning of
   * an invocation, so that no time jumps while one runs. If the table does not answer, the machine's own time has to do.
   */
  adjust(ask: () => Promise<unknown>): Promise<void>;
}

/** The time of the table, which the functions on all machines have in common. */
export function createTableClock(time: TableTime): TableClock {
  let offsetMs = 0;
  return {
    now: () => systemClock.now() + offsetMs,
    sleep: systemClock.sleep,
    get offsetMs() {
      return offsetMs;
    },
    async adjust(ask) {
      if (!time.isKnown) await ask().catch(() => undefined);
      offsetMs = time.offsetMs;
    },
  };
}
