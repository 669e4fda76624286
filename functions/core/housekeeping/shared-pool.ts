/**
 * One reading of the pool for all who ask at about the same time: a sweep settles thousands of leftovers, and an engine
 * that hangs makes each reading wait.
 */
import type { Clock } from "../clock.ts";
import type { Engine } from "../engine.ts";
import type { PoolInformation } from "../protocol.ts";

/**
 * Who asks gets a reading that began at most so long before. Nobody but another settler writes to what a dead attempt left
 * within that second, and the stamp of its write refuses ours.
 */
const FRESH_MS = 1000;
/** After a failed reading nobody tries again for so long. */
const REST_MS = 5000;

interface Reading {
  readonly beganAt: number;
  readonly answer: Promise<PoolInformation>;
  state: "pending" | "read" | "failed";
  /** Unix ms at which it was read or failed. */
  doneAt: number;
}

/**
 * The engine with shared readings. One that is under way is waited for, and its failure is everybody's. `onRead` is shown
 * each reading before anybody else; it must not fail.
 */
export function withSharedPool(
  engine: Engine,
  clock: Clock,
  onRead: (pool: PoolInformation) => Promise<void> = async () => undefined,
): Engine {
  const read = async () => {
    const pool = await engine.pool();
    await onRead(pool);
    return pool;
  };
  let last: Reading | undefined;
  const begin = (): Reading => {
    const reading: Reading = { beganAt: clock.now(), answer: read(), state: "pending", doneAt: 0 };
    const done = (state: "read" | "failed") => () => {
      reading.state = state;
      reading.doneAt = clock.now();
    };
    reading.answer.then(done("read"), done("failed"));
    last = reading;
    return reading;
  };
  const pool = async () => {
    const askedAt = clock.now();
    const known = last;
    // Too old to tell how things stand now; only its failure counts.
    if (known?.state === "pending" && askedAt - known.beganAt > FRESH_MS) await known.answer;
    return await (usable(last, askedAt) ?? begin()).answer;
  };
  return { ...engine, pool };
}

function usable(reading: Reading | undefined, askedAt: number): Reading | undefined {
  if (reading === undefined) return undefined;
  const rests = reading.state === "failed" && askedAt - reading.doneAt < REST_MS;
  return rests || askedAt - reading.beganAt <= FRESH_MS ? reading : undefined;
}
