/** A clock that stands still until it is moved on. For servers under test, whose timers then cost no time. */
import type { Clock } from "../../functions/core/clock.ts";

interface Timer {
  readonly at: number;
  readonly wake: () => void;
}

export class VirtualClock implements Clock {
  #now: number;
  /** In the order in which they are due. */
  #timers: Timer[] = [];

  constructor(now = Date.UTC(2030, 0, 1)) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const cancel = () => {
        this.#timers = this.#timers.filter((other) => other !== timer);
        reject(signal?.reason);
      };
      const timer: Timer = {
        at: this.#now + Math.max(0, ms),
        wake: () => {
          signal?.removeEventListener("abort", cancel);
          resolve();
        },
      };
      signal?.addEventListener("abort", cancel, { once: true });
      const later = this.#timers.findIndex((other) => other.at > timer.at);
      this.#timers.splice(later === -1 ? this.#timers.length : later, 0, timer);
    });
  }

  /** How many timers wait. */
  get waiting(): number {
    return this.#timers.length;
  }

  /** Moves on by `ms`, waking who is due on the way, each at its own time. */
  async advance(ms: number): Promise<void> {
    const until = this.#now + ms;
    await settled();
    while (this.#timers[0] !== undefined && this.#timers[0].at <= until) await this.#wakeNext();
    this.#now = until;
  }

  /** Moves on to the next timer and wakes it; false where none waits. */
  async advanceToNext(): Promise<boolean> {
    await settled();
    return this.#wakeNext();
  }

  async #wakeNext(): Promise<boolean> {
    const timer = this.#timers.shift();
    if (timer === undefined) return false;
    this.#now = timer.at;
    timer.wake();
    await settled();
    return true;
  }
}

/** Lets everything happen that needs no time. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
