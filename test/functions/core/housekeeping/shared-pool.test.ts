import { expect, test } from "vitest";
import { withSharedPool } from "../../../../functions/core/housekeeping/shared-pool.ts";
import type { PoolInformation } from "../../../../functions/core/protocol.ts";
import { engineThat } from "../../../support/engine-that.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { aPool, NOW } from "../items.ts";

/** An engine whose readings end when the test says so. */
async function stage() {
  const clock = new FakeClock(NOW, "manual");
  const readings: PromiseWithResolvers<PoolInformation>[] = [];
  const { engine } = await engineThat((_request, response) => void response.end());
  const pool = () => {
    const reading = Promise.withResolvers<PoolInformation>();
    readings.push(reading);
    return reading.promise;
  };
  return { clock, readings, engine: withSharedPool({ ...engine, pool }, clock) };
}
const at = (step: number) => aPool({ global_step: step });

test("those who ask within a second share one reading, and later ones get another", async () => {
  const { clock, readings, engine } = await stage();
  const first = engine.pool();
  await clock.advance(1000);
  const second = engine.pool();
  readings[0]?.resolve(at(1));
  expect([(await first).global_step, (await second).global_step, readings.length]).toEqual([1, 1, 1]);
  await clock.advance(1);
  const third = engine.pool();
  readings[1]?.resolve(at(2));
  expect([(await third).global_step, readings.length]).toEqual([2, 2]);
});

test("who asks while an older reading is under way waits for it, and gets one that began afterwards", async () => {
  const { clock, readings, engine } = await stage();
  const first = engine.pool();
  await clock.advance(5000);
  const later = [engine.pool(), engine.pool()];
  expect(readings).toHaveLength(1);
  readings[0]?.resolve(at(1));
  await first;
  await clock.advance(0);
  await new Promise(setImmediate);
  expect(readings).toHaveLength(2);
  readings[1]?.resolve(at(2));
  expect((await Promise.all(later)).map(({ global_step }) => global_step)).toEqual([2, 2]);
});

test("a failure is everybody's, and nobody tries again for five seconds", async () => {
  const { clock, readings, engine } = await stage();
  const outcomes = [engine.pool()];
  await clock.advance(9000);
  outcomes.push(engine.pool(), engine.pool());
  await clock.advance(1000);
  readings[0]?.reject(new Error("it hangs"));
  for (const outcome of outcomes) await expect(outcome).rejects.toThrow("it hangs");
  await clock.advance(4999);
  await expect(engine.pool()).rejects.toThrow("it hangs");
  expect(readings).toHaveLength(1);
  await clock.advance(1);
  const again = engine.pool();
  readings[1]?.resolve(at(3));
  expect((await again).global_step).toBe(3);
});
