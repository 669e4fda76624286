import { describe, expect, test } from "vitest";
import { readLatestSnapshot } from "../../../../functions/adapters/table/lifecycle.ts";
import {
  type FleetQueue,
  type LifecycleStore,
  SETTLED_MS,
  takeSnapshot,
} from "../../../../functions/core/housekeeping/take-snapshot.ts";
import type { PastAttempt, RolloutItem } from "../../../../functions/core/rollout/item.ts";
import { anAttempt, aPool, NOW } from "../items.ts";
import { type World, worlds } from "./engine-and-table.ts";

const open = worlds();
const depth = { visible: 1, in_flight: 2, delayed: 3 };
const spend = { usd_today: 1, usd_total: 6, budget_usd_per_day: null, budget_exceeded: false };

const fleetOf = (world: World, facts: Partial<FleetQueue> = {}): FleetQueue => ({
  name: world.name,
  depths: async () => ({ queue: depth, deadLetters: 4 }),
  gate: () => world.gates.read(world.name),
  spend: async () => spend,
  ...facts,
});
const take = async (
  world: World,
  facts: Partial<FleetQueue> = {},
  overdue = new Map<string, number>(),
  store: LifecycleStore = world.store,
) => {
  const { clock, engine, log } = world.ports;
  const fleets = [fleetOf(world, facts)];
  const ports = {
    clock,
    engine,
    log,
    store,
    fleets,
    observed: async () => undefined,
    scheduleMinutes: 1,
  };
  const snapshot = await takeSnapshot(ports, world.name, overdue);
  expect(await readLatestSnapshot(world.table, world.name)).toEqual(snapshot);
  return { snapshot, fleet: snapshot.fleets[world.name] };
};
const past = (at: number, facts: Partial<PastAttempt> = {}): PastAttempt => ({
  id: "i.1",
  episode: "e",
  reason: "ended",
  at,
  from: at - 1000,
  step: 1,
  reward: 1,
  calls: 1,
  ...facts,
});

describe("a snapshot", () => {
  test("shows what is open, overdue, waiting and spent", async () => {
    const world = await open();
    await world.put({ key: "open", state: "running", attempt: anAttempt() });
    const { snapshot, fleet } = await take(world, {}, new Map([[world.name, 1]]));
    expect(snapshot).toMatchObject({ at: new Date(NOW).toISOString(), overdue: 1, unconfirmed: 0 });
    expect(fleet).toMatchObject({
      queue: depth,
      dead_letters: 4,
      open: 1,
      overdue: 1,
      paused: null,
      circuit: null,
      spend: { usd_total: 6, usd_per_ended: null },
    });
  });

  test("shows a pause and an open circuit", async () => {
    const world = await open();
    await world.gates.setPaused(world.name, { at: NOW, why: "lunch" });
    await world.gates.fail(world.name, "deadline");
    await world.gates.trip(world.name, NOW, NOW + 1);
    expect((await take(world)).fleet).toMatchObject({
      paused: "lunch",
      circuit: { since: NOW, failures: 1, reason: "deadline" },
    });
  });

  test("is taken without the pool where that cannot be read", async () => {
    const world = await open();
    world.show(undefined);
    const { snapshot } = await take(world);
    expect([snapshot.pool, snapshot.status.engine_status]).toEqual([null, "ENGINE.ROLLING"]);
  });

  test.each(["depths", "gate", "spend"] as const)("is taken although %s cannot be read", async (part) => {
    const world = await open();
    const { fleet } = await take(world, { [part]: () => Promise.reject(new Error("not now")) });
    expect(fleet).toMatchObject({
      queue: part === "depths" ? null : depth,
      dead_letters: part === "depths" ? null : 4,
      paused: null,
      spend: part === "spend" ? null : spend,
    });
  });

  test("names tasks that have an empty id, which the table would refuse", async () => {
    const world = await open();
    const pool = {
      completed_tasks_details: { "": ["e-1"], "task-1": ["e-2"] },
      completed_tasks_client_uuids: { "": ["c-1"] },
      completed_tasks_rewards: { "": [1] },
    };
    world.show(aPool(pool));
    expect((await take(world)).snapshot.pool).toMatchObject({
      completed_tasks_details: { "(no task id)": ["e-1"], "task-1": ["e-2"] },
      completed_tasks_client_uuids: { "(no task id)": ["c-1"] },
      completed_tasks_rewards: { "(no task id)": [1] },
    });
  });

  test("counts ends that are not confirmed, and those that never were", async () => {
    const world = await open();
    await world.put({ key: "new", state: "ended", history: [past(NOW)] });
    for (const key of ["a", "b"])
      await world.put({ key, state: "ended", history: [past(NOW)], confirmed_at: null });
    expect((await take(world)).snapshot).toMatchObject({ unconfirmed: 1, never_confirmed: 2 });
  });
});

describe("a fleet's totals", () => {
  const end = (world: World, key: string, at: number, reward = 1) =>
    world.put({ key, state: "ended", history: [past(at, { reward })], changed_at: at });

  test("show young attempts at once, and store them only when none of their time can come to light any more", async () => {
    const world = await open();
    await end(world, "old", NOW - SETTLED_MS - 1);
    await end(world, "young", NOW - SETTLED_MS, 0);
    const { fleet } = await take(world);
    expect(fleet).toMatchObject({ totals: { ended: 2 }, reward_mean: 0.5, spend: { usd_per_ended: 3 } });
    expect(await world.store.readTotals(world.name)).toMatchObject({
      as_of: NOW - SETTLED_MS,
      totals: { ended: 1, reward_sum: 1 },
    });
  });

  test("count each attempt once, however many snapshots see it, and one that comes late within its time", async () => {
    const world = await open();
    await end(world, "first", NOW - 1000);
    for (let tick = 0; tick <= SETTLED_MS / 60_000 + 1; tick += 1) {
      if (tick === 2) await end(world, "late", NOW - 500);
      const { fleet } = await take(world);
      expect(fleet?.totals.ended).toBe(tick < 2 ? 1 : 2);
      await world.clock.sleep(60_000);
    }
    expect(await world.store.readTotals(world.name)).toMatchObject({ totals: { ended: 2, reward_sum: 2 } });
  });

  const dead = (facts: Partial<RolloutItem> = {}): Partial<RolloutItem> => {
    const at = NOW - SETTLED_MS - 1000;
    const history = [past(at, { reason: "deadline", detail: "x".repeat(9000) })];
    return { state: "dead", letter: "owed", attempts: 1, history, changed_at: at, ...facts };
  };

  test("count a rollout once that moves to the end of the index while its pages are read", async () => {
    const world = await open();
    const items = await Promise.all(
      Array.from({ length: 150 }, (_, n) => world.put(dead({ key: `dead-${n}` }))),
    );
    let pages = 0;
    const store: LifecycleStore = {
      ...world.store,
      async *changedSince(fleet, since) {
        for await (const page of world.store.changedSince(fleet, since)) {
          yield page;
          pages += 1;
          const moved = pages === 1 && items.find(({ key }) => key === page[0]?.key);
          if (moved)
            await world.ports.rollouts.move(moved, { ...moved, letter: "sent", changed_at: NOW, stamp: "2" });
        }
      },
    };
    expect((await take(world, {}, new Map(), store)).fleet?.totals.dead).toBe(150);
    expect(pages).toBeGreaterThan(2);
    await world.clock.sleep(60_000);
    expect((await take(world)).fleet?.totals).toMatchObject({ dead: 150, attempts: { deadline: 150 } });
  });

  test("count a rollout that no page shows, since it is on its way to the end of the index", async () => {
    const world = await open();
    await world.put(dead({ key: "moving", changed_at: NOW - 1 }));
    let passes = 0;
    const store: LifecycleStore = {
      ...world.store,
      async *changedSince(fleet, since) {
        passes += 1;
        for await (const page of world.store.changedSince(fleet, since)) yield passes === 1 ? [] : page;
      },
    };
    expect((await take(world, {}, new Map(), store)).fleet?.totals.dead).toBe(1);
    await world.clock.sleep(60_000);
    expect((await take(world)).fleet?.totals.dead).toBe(1);
  });

  test("count attempts by a clock that is five minutes behind", async () => {
    const world = await open();
    await take(world);
    await world.clock.sleep(60_000);
    await end(world, "behind", world.clock.now() - 300_000);
    await take(world);
    await world.clock.sleep(600_000);
    await take(world);
    expect(await world.store.readTotals(world.name)).toMatchObject({ totals: { ended: 1 } });
  });
});
