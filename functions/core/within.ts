/** Waiting for no longer than there is time. */
import type { Clock } from "./clock.ts";

/** What `work` resolves to, or undefined where it takes longer than `ms`: it goes on, and nobody waits for it. */
export async function within<T>(clock: Clock, ms: number, work: Promise<T>): Promise<T | undefined> {
  const done = new AbortController();
  const late = clock.sleep(ms, done.signal).then(
    () => undefined,
    () => undefined,
  );
  try {
    return await Promise.race([work, late]);
  } finally {
    done.abort();
  }
}
