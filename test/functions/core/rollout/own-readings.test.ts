import { expect, test } from "vitest";
import type { Engine } from "../../../../functions/core/engine.ts";
import type { PoolInformation } from "../../../../functions/core/protocol.ts";
import type { BatchSeen, BatchStore } from "../../../../functions/core/rollout/batch-seen.ts";
import { OwnReadings } from "../../../../functions/core/rollout/own-readings.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { aPool, NOW, running } from "../items.ts";
import { us } from "../scripted-engine.ts";

const of = { engine: "engine-1", fleet: "main", fleetId: "main" };
const held = { running_episode_details: { "episode-1": running(us) } };
const done = (...episodes: string[]) => ({ completed_tasks_details: { "task-0": episodes } });

/** Readings of these pools; `noted` is what stands of step 1, `writes` how often it was written. */
function reading(facts: { refuseFirst?: boolean; failing?: boolean } = {}) {
  const clock = new FakeClock(NOW);
  const items = new Map<number, BatchSeen>();
  const logged: string[] = [];
  let writes = 0;
  const batches: BatchStore = {
    read: async (_, step) => items.get(step),
    write: async (_, _left, next) => {
      writes += 1;
      if (facts.failing) throw new Error("over capacity");
      if (facts.refuseFirst && writes === 1) return false;
      items.set(next.step, next);
      return true;
    },
    trainings: { read: async () => undefined, write: async () => true },
  };
  let shown = aPool();
  const engine = { pool: async () => shown } as unknown as Engine;
  const readings = new OwnReadings({ clock, log: (_, message) => logged.push(message), engine, batches }, of);
  const read = async (pool: PoolInformation) => {
    shown = pool;
    expect(await readings.engine.pool()).toBe(pool);
    await readings.settled();
  };
  return { clock, logged, read, noted: () => items.get(1), writes: () => writes };
}

test("what an invocation reads of the pool is kept, once in ten seconds while nothing changes", async () => {
  const { clock, read, noted, writes } = reading();
  await read(aPool(held));
  await clock.sleep(9999);
  await read(aPool({ ...held, ...done("episode-0") }));
  expect([writes(), noted()?.looks]).toMatchObject([1, [{ held: ["invocation-1.1"], completed: [] }]]);
  await clock.sleep(1);
  await read(aPool({ ...held, ...done("episode-0") }));
  expect([writes(), noted()?.looks[1]]).toMatchObject([2, { completed: ["episode-0"] }]);
});

test("the end of a batch is noted at once, although others have just written", async () => {
  const { clock, read, noted } = reading();
  await read(aPool({ ...held, ...done("episode-0") }));
  await clock.sleep(1000);
  await read(aPool({ ...held, ...done("episode-0", "episode-2"), engine_status: "ENGINE.ROLLING_POST" }));
  expect(noted()).toMatchObject({ version: 1 });
  await read(aPool({ ...done("episode-0", "episode-2"), engine_status: "ENGINE.WEIGHT_SYNCING" }));
  expect(noted()).toMatchObject({ version: 2, final: ["episode-0", "episode-2"] });
});

test("what another one has written meanwhile is read, and written to", async () => {
  const { read, noted, writes } = reading({ refuseFirst: true });
  await read(aPool(held));
  expect([writes(), noted()?.looks.length]).toEqual([2, 1]);
});

test("a table that takes nothing hinders no reading", async () => {
  const { read, logged } = reading({ failing: true });
  await read(aPool(held));
  expect(logged).toEqual(["batch could not be noted"]);
});
