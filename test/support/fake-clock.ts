/** A clock that a test holds still and moves on. Times are unix ms. */
import type { Clock } from "../../functions/core/clock.ts";

interface Sleeper {
  readonly until: number;
  wake(): void;
}

/**
 * `auto` (the default): a sleep moves the clock on by itself and resolves at once. `manual`: a sleep lasts until the
 * test has advanced the clock far enough. Either way a signal that fires first rejects it with its reason.
 */
export class FakeClock implements Clock {
  /** Milliseconds of every sleep so far, in order. */
  readonly sleeps: number[] = [];
  #now: number;
  #sleepers: Sleeper[] = [];
  readonly #mode: "auto" | "manual";

  constructor(start = 0, mode: "auto" | "manual" = "auto") {
    this.#now = start;
    this.#mode = mode;
  }

  now(): number {
    return this.#now;
  }

  /** Sleeps that have not been woken yet. */
  get sleeping(): number {
    return this.#sleepers.length;
  }

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    this.sleeps.push(ms);
    if (this.#mode === "auto") this.#now += ms;
    else await this.#wait(this.#now + ms, signal);
  }

  /** Moves the clock on and wakes whoever is due, the earliest first, each at its own time. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    for (let due = this.#nextDue(end); due !== undefined; due = this.#nextDue(end)) {
      this.#now = due.until;
      due.wake();
      // Whoever woke may go to sleep again within this very advance.
      await new Promise(setImmediate);
    }
    this.#now = end;
  }

  #nextDue(end: number): Sleeper | undefined {
    const [first] = this.#sleepers.toSorted((a, b) => a.until - b.until);
    return first !== undefined && first.until <= end ? first : undefined;
  }

  #wait(until: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = () => {
        this.#sleepers = this.#sleepers.filter((other) => other !== sleeper);
        signal?.removeEventListener("abort", abort);
      };
      const abort = () => {
        leave();
        reject(signal?.reason);
      };
      const wake = () => {
        leave();
        resolve();
      };
      const sleeper = { until, wake };
      this.#sleepers.push(sleeper);
      signal?.addEventListener("abort", abort);
    });
  }
}
