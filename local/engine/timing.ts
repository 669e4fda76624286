/** Waiting on an injected clock. */
import type { Clock } from "../../functions/core/clock.ts";

/** What `within` gives when the time came first. */
export const timedOut = Symbol("timed out");

/** The promise's value if it comes within `seconds` and before the signal, else `timedOut`. Leaves no timer behind. */
export async function within<T>(
  clock: Clock,
  seconds: number,
  promise: Promise<T>,
  signal: AbortSignal,
): Promise<Awaited<T> | typeof timedOut> {
  const elapsed = (): typeof timedOut => timedOut;
  const won = new AbortController();
  const cancel = () => won.abort();
  signal.addEventListener("abort", cancel, { once: true });
  const time = clock.sleep(seconds * 1000, won.signal).then(elapsed, elapsed);
  try {
    return await Promise.race([promise, time]);
  } finally {
    signal.removeEventListener("abort", cancel);
    won.abort();
  }
}

/** Calls `act` after `seconds`, unless the signal fires first. */
export function after(clock: Clock, seconds: number, signal: AbortSignal, act: () => void): void {
  clock.sleep(seconds * 1000, signal).then(act, () => undefined);
}

/** Resolves true after `seconds`, or false as soon as the signal fires. */
export async function slept(clock: Clock, seconds: number, signal: AbortSignal): Promise<boolean> {
  if (signal.aborted) return false;
  if (seconds <= 0) return true;
  try {
    await clock.sleep(seconds * 1000, signal);
    return !signal.aborted;
  } catch {
    return false;
  }
}

/** What somebody waits for who waits for the dead. */
export function never<T>(): Promise<T> {
  return new Promise<T>(() => undefined);
}

/** Lets at most `limit` of its callers in at once, in order. */
export class Gate {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(limit: number) {
    this.#free = limit;
  }

  async pass<T>(act: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((enter) => this.#waiting.push(enter));
    try {
      return await act();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free += 1;
      else next();
    }
  }
}
