/** A number of places, each taken by one at a time; who finds none waits in line. */
export class Slots {
  #free: number;
  #closed = false;
  readonly #line: ((taken: boolean) => void)[] = [];

  constructor(count: number) {
    this.#free = count;
  }

  /** Resolves to true with a place taken, or to false once closed. */
  async take(): Promise<boolean> {
    if (this.#closed) return false;
    if (this.#free > 0) {
      this.#free -= 1;
      return true;
    }
    const { promise, resolve } = Promise.withResolvers<boolean>();
    this.#line.push(resolve);
    return promise;
  }

  give(): void {
    const next = this.#line.shift();
    if (next) next(true);
    else this.#free += 1;
  }

  /** Sends everybody in the line away, and whoever comes later. */
  close(): void {
    this.#closed = true;
    for (const leave of this.#line.splice(0)) leave(false);
  }
}
