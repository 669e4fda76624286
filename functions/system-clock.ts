import { setTimeout } from "node:timers/promises";
import type { Clock } from "./core/clock.ts";

/** The real time. A sleeping timer does not keep the process alive on its own account. */
export const systemClock: Clock = {
  now: () => Date.now(),
  sleep: async (ms, signal) => {
    try {
      await setTimeout(ms, undefined, signal ? { signal } : {});
    } catch (error) {
      throw signal?.aborted ? signal.reason : error;
    }
  },
};
