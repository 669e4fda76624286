import { setTimeout as delay } from "node:timers/promises";

/** Invocations under way. */
export class Inflight {
  readonly #running = new Set<Promise<void>>();

  get size(): number {
    return this.#running.size;
  }

  /** Counts `work` until it has settled; what it rejects with goes to `onError`. */
  track(work: Promise<void>, onError: (error: unknown) => void): void {
    const tracked = work.catch(onError).finally(() => this.#running.delete(tracked));
    this.#running.add(tracked);
  }

  /** Waits until all have settled, or `graceMs` are over; returns how many still run. */
  async settled(graceMs: number): Promise<number> {
    const patience = new AbortController();
    const grace = delay(graceMs, undefined, { signal: patience.signal }).catch(() => {});
    await Promise.race([Promise.all(this.#running), grace]);
    patience.abort();
    return this.#running.size;
  }
}
