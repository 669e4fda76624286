/** The real time, passing faster: for tests in which the domain's own pauses run against real servers. */
import { setTimeout as delay } from "node:timers/promises";
import type { Clock } from "../../functions/core/clock.ts";

export class FastClock implements Clock {
  readonly #began = Date.now();
  readonly #speed: number;

  /** `speed` 20: a pause of 5 s takes a quarter of a second. Limits of single HTTP calls are not shortened. */
  constructor(speed: number) {
    this.#speed = speed;
  }

  now(): number {
    return Math.round(this.#began + (Date.now() - this.#began) * this.#speed);
  }

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    try {
      await delay(ms / this.#speed, undefined, signal ? { signal } : {});
    } catch (error) {
      throw signal?.aborted ? signal.reason : error;
    }
  }
}
