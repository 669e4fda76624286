/** Time, as the domain sees it: unix ms. A test holds it still and moves it on. */
export interface Clock {
  now(): number;
  /** Resolves after `ms`; rejects with the signal's reason when it fires first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** Randomness from a seed where a test wants it: a number in [0, 1). */
export type Random = () => number;
