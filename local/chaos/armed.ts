/** Planned faults that wait for their moment: the n-th time that something happens, or the next time that they can. */
import type { Nth } from "./plan.ts";

export class Armed<T> {
  readonly #waiting: Map<string, Nth<T>[]>;
  readonly #counts = new Map<string, number>();

  /** `of` names what is counted. */
  constructor(entries: readonly Nth<T>[], of: (what: T) => string) {
    const sorted = entries.toSorted((a, b) => a.nth - b.nth);
    this.#waiting = Map.groupBy(sorted, ({ what }) => of(what));
  }

  /** Counts one more `name`; gives the fault that is due now, which is then no longer planned. */
  happens(name: string, canStrike: (what: T) => boolean = () => true): T | undefined {
    const count = (this.#counts.get(name) ?? 0) + 1;
    this.#counts.set(name, count);
    const waiting = this.#waiting.get(name) ?? [];
    const [first] = waiting;
    if (first === undefined || count < first.nth || !canStrike(first.what)) return undefined;
    waiting.shift();
    return first.what;
  }

  /** How many have not struck. */
  get left(): number {
    return [...this.#waiting.values()].reduce((sum, waiting) => sum + waiting.length, 0);
  }
}
