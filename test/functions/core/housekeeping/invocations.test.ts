import { describe, expect, test } from "vitest";
import { createInvocationStore } from "../../../../functions/adapters/table/invocations.ts";
import { lookAtInvocations } from "../../../../functions/core/housekeeping/invocations.ts";
import { sweep } from "../../../../functions/core/housekeeping/sweep.ts";
import { CLOCK_SKEW_MS } from "../../../../functions/core/rollout/heartbeat.ts";
import { dayOf } from "../../../../functions/core/spend/spend.ts";
import { anAttempt, NOW } from "../items.ts";
import { type World, worlds } from "./engine-and-table.ts";

const open = worlds();
const SWEEP_MS = 20_000;
const used = { gb_seconds: 10, invocations: 1, deliveries: 3, attempts: 1 };

/** One look after 20 s; whether the invocation is dead for it. */
async function look(world: World, passedMs = SWEEP_MS, ports = world.ports): Promise<boolean> {
  await world.clock.sleep(passedMs);
  const seen = await lookAtInvocations(ports, world.name, [world.name], ["invocation-1"]);
  return seen.isDead("invocation-1");
}
const looks = async (world: World, count: number, ports = world.ports) => {
  const found: boolean[] = [];
  for (let n = 0; n < count; n += 1) found.push(await look(world, SWEEP_MS, ports));
  return found;
};
const beat = (world: World, at: number) => world.alive("invocation-1", { alive_at: at });

describe("an invocation", () => {
  test("that fell silent is dead after four looks: more than one missed sign, and less than two minutes", async () => {
    const world = await open();
    await beat(world, NOW);
    expect(await looks(world, 4)).toEqual([false, false, false, true]);
    expect(await world.ports.invocations.read("invocation-1")).toMatchObject({ dead_at: NOW + 4 * SWEEP_MS });
  });

  test("that missed one sign, or two looks, lives", async () => {
    const world = await open();
    await beat(world, NOW);
    expect(await looks(world, 3)).toEqual([false, false, false]);
    await beat(world, NOW + 59_999);
    expect(await looks(world, 3)).toEqual([false, false, false]);
  });

  test.each([-CLOCK_SKEW_MS, -20_000, CLOCK_SKEW_MS])(
    "whose clock is %i ms off lives and dies as others do",
    async (skew) => {
      const world = await open();
      for (let n = 0; n < 5; n += 1) {
        await world.alive("invocation-1", {
          alive_at: NOW + skew + n * 20_000,
          ends_at: NOW + skew + 900_000,
        });
        expect(await look(world)).toBe(false);
      }
      expect(await looks(world, 3)).toEqual([false, false, true]);
    },
  );

  test.each([-CLOCK_SKEW_MS, CLOCK_SKEW_MS])(
    "is not dead because the sweep goes on on a machine %i ms off",
    async (skew) => {
      const world = await open();
      await beat(world, NOW);
      expect(await looks(world, 2)).toEqual([false, false]);
      await world.clock.sleep(skew);
      expect(await looks(world, 1)).toEqual([false]);
      await beat(world, NOW + 50_000);
      expect(await looks(world, 3)).toEqual([false, false, false]);
    },
  );

  test("is remembered across processes of the sweep", async () => {
    const world = await open();
    await beat(world, NOW);
    const another = () => ({ ...world.ports, invocations: createInvocationStore(world.table) });
    expect(await looks(world, 2, another())).toEqual([false, false]);
    expect(await looks(world, 2, another())).toEqual([false, true]);
  });

  test("that is declared dead is told so at its next sign, which changes nothing", async () => {
    const world = await open();
    await beat(world, NOW);
    await looks(world, 4);
    const item = await world.ports.invocations.read("invocation-1");
    if (!item) throw new Error("expected the invocation");
    const { dead_at, ...alive } = item;
    expect(await world.ports.invocations.beat({ ...alive, alive_at: NOW + 99_000 })).toBe(false);
    expect(await world.ports.invocations.read("invocation-1")).toEqual(item);
  });

  test("that says it lives between look and verdict is not declared dead", async () => {
    const world = await open();
    await beat(world, NOW);
    await looks(world, 3);
    const previous = await world.ports.invocations.read("invocation-1");
    await beat(world, NOW + 79_000);
    expect(previous && (await world.ports.invocations.declareDead(previous, NOW + 80_000))).toBe(false);
    expect(await looks(world, 1)).toEqual([false]);
  });

  test("without an item is dead, and so is one whose time is up by everybody's clock", async () => {
    const world = await open();
    expect(await look(world)).toBe(true);
    await beat(world, NOW + SWEEP_MS);
    expect(await look(world, 900_000 - 2 * SWEEP_MS)).toBe(false);
    expect(await look(world, CLOCK_SKEW_MS + SWEEP_MS)).toBe(true);
  });
});

describe("a table that is away for two minutes", () => {
  const away = () => Promise.reject(new Error("over capacity"));

  test("proves nothing, neither while it is away nor right afterwards", async () => {
    const world = await open();
    await beat(world, NOW);
    await looks(world, 1);
    const watch = { read: away, write: away };
    expect(await looks(world, 6, { ...world.ports, watch })).toEqual(Array.from({ length: 6 }, () => false));
    expect(await looks(world, 1)).toEqual([false]);
    await beat(world, NOW + 162_000);
    expect(await looks(world, 3)).toEqual([false, false, false]);
  });

  test("for writes alone lets nobody be declared dead: heartbeats do not get through either", async () => {
    const world = await open();
    await beat(world, NOW);
    await looks(world, 1);
    const watch = { ...world.ports.watch, write: away };
    const invocations = { ...world.ports.invocations, declareDead: away };
    const ports = { ...world.ports, watch, invocations };
    expect(await looks(world, 6, ports)).toEqual(Array.from({ length: 6 }, () => false));
    expect(await looks(world, 1)).toEqual([false]);
  });

  test("for the verdict's write leaves the invocation alive", async () => {
    const world = await open();
    await beat(world, NOW);
    await looks(world, 3);
    const invocations = { ...world.ports.invocations, declareDead: away };
    expect(await looks(world, 1, { ...world.ports, invocations })).toEqual([false]);
  });
});

describe("what a dead invocation leaves", () => {
  const died = async (world: World, facts = {}) => {
    await world.alive("invocation-1", { waiting: ["r-1", "r-2", "r-3"], used, ...facts });
    for (let n = 0; n < 4; n += 1) {
      await world.clock.sleep(SWEEP_MS);
      await sweep(world.ports, world.name, world.clock.now() + 25_000);
    }
  };
  const usage = (world: World) => world.usage.read(world.name, dayOf(NOW));

  test("its messages are shown within two minutes, but for those of episodes, which are settled first", async () => {
    const world = await open();
    await world.put({ key: "open", state: "running", tries: 1, attempt: anAttempt({ receipt: "r-2" }) });
    await died(world);
    expect(world.calls).toEqual([
      ["show", "r-1"],
      ["show", "r-3"],
      ["defer", "r-2", 0],
    ]);
    expect(await world.ports.invocations.read("invocation-1")).toBeUndefined();
  });

  test("its usage is added to the fleet's, once", async () => {
    const world = await open();
    await died(world);
    await sweep(world.ports, world.name, world.clock.now() + 25_000);
    expect(await usage(world)).toEqual(used);
  });

  test("messages that cannot be shown are shown by the next sweep", async () => {
    const world = await open();
    const fleet = world.ports.fleets.get(world.name);
    if (!fleet) throw new Error("expected the fleet");
    const queue = { ...fleet.queue, show: () => Promise.reject(new Error("no queue")) };
    await died({ ...world, ports: { ...world.ports, fleets: new Map([[world.name, { ...fleet, queue }]]) } });
    expect([world.calls, await usage(world)]).toMatchObject([[], { invocations: 0 }]);
    await sweep(world.ports, world.name, world.clock.now() + 25_000);
    expect(world.calls).toEqual(["r-1", "r-2", "r-3"].map((receipt) => ["show", receipt]));
    expect(await usage(world)).toEqual(used);
  });
});

describe("messages that an invocation has parked", () => {
  const ended = async (world: World) =>
    await world.alive("invocation-1", { ended_at: NOW, parked: ["r-1", "r-2"] });
  const swept = async (world: World, passedMs = SWEEP_MS) => {
    await world.clock.sleep(passedMs);
    return await sweep(world.ports, world.name, world.clock.now() + 25_000);
  };

  test("stay hidden while the fleet is paused, and are shown by the first sweep after the resume", async () => {
    const world = await open();
    await ended(world);
    await world.gates.setPaused(world.name, { at: NOW, why: "lunch" });
    for (let n = 0; n < 5; n += 1) expect(await swept(world)).toMatchObject({ living: 0 });
    expect(world.calls).toEqual([]);
    await world.gates.setPaused(world.name, undefined);
    await swept(world);
    expect(world.calls).toEqual([
      ["show", "r-1"],
      ["show", "r-2"],
    ]);
    expect(await world.ports.invocations.read("invocation-1")).toBeUndefined();
  });

  test("serve as probes, one at a time, while the circuit is open", async () => {
    const world = await open();
    await ended(world);
    await world.gates.trip(world.name, NOW, NOW + 30_000);
    await swept(world);
    expect(world.calls).toEqual([]);
    await swept(world);
    expect(world.calls).toEqual([["show", "r-1"]]);
    expect(await world.ports.invocations.read("invocation-1")).toMatchObject({ parked: ["r-2"] });
    await world.gates.reset(world.name);
    await swept(world);
    expect(world.calls).toEqual([
      ["show", "r-1"],
      ["show", "r-2"],
    ]);
  });
});
