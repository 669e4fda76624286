/** How many episodes are remembered: enough for their longest to tell what the next may take. */
const MOST = 20;

/** How long the last episodes took, ms. */
export class RecentDurations {
  readonly #durations: number[] = [];

  add(milliseconds: number): void {
    this.#durations.push(milliseconds);
    if (this.#durations.length > MOST) this.#durations.shift();
  }

  /** 0 while there were none. */
  longest(): number {
    return Math.max(0, ...this.#durations);
  }
}
