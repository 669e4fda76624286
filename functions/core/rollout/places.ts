/** The places of one invocation: how many rollouts it runs at once. */
export class Places {
  readonly #size: number;
  #taken = 0;
  #freed = Promise.withResolvers<void>();

  constructor(size: number) {
    this.#size = size;
  }

  get free(): number {
    return Math.max(0, this.#size - this.#taken);
  }

  /** Nothing runs. */
  get isIdle(): boolean {
    return this.#taken === 0;
  }

  /** Resolves when a place becomes free. */
  freed(): Promise<void> {
    return this.#freed.promise;
  }

  /** The work holds a place until it is done, however it ends. */
  async hold<T>(work: Promise<T>): Promise<T> {
    this.#taken += 1;
    try {
      return await work;
    } finally {
      this.#taken -= 1;
      this.#freed.resolve();
      this.#freed = Promise.withResolvers<void>();
    }
  }
}
