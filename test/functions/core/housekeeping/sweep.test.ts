import { describe, expect, test } from "vitest";
import { EngineError } from "../../../../functions/core/errors.ts";
import { sweep } from "../../../../functions/core/housekeeping/sweep.ts";
import type { Attempt, RolloutItem } from "../../../../functions/core/rollout/item.ts";
import { FastClock } from "../../../support/fast-clock.ts";
import { anAttempt, aPool, NOW } from "../items.ts";
import { type World, worlds } from "./engine-and-table.ts";

const open = worlds();
const until = NOW + 25_000;
const result = { reward: 1, is_success: true, metadata: {}, log_metrics: {} };

const running = (
  world: World,
  key: string,
  attempt: Partial<Attempt> = {},
  facts: Partial<RolloutItem> = {},
) => world.put({ key, state: "running", tries: 1, attempt: anAttempt(attempt), ...facts });

/** A pool in which the attempt holds the episode. */
const holding = (client: string, idle = "1.0s", episode = "episode-1") =>
  aPool({
    running_episode_details: {
      [episode]: { episode_status: "claimed", client_uuid: client, time_since_last_activity: idle },
    },
  });

describe("an open rollout", () => {
  test("of a living invocation is left alone", async () => {
    const world = await open();
    const item = await running(world, "living");
    await world.alive("invocation-1");
    world.show(holding(`${world.name}/invocation-1.1`));
    expect(await sweep(world.ports, world.name, until)).toMatchObject({
      settled: 0,
      unsettled: 0,
      orphans: 0,
    });
    expect([await world.stands("living"), world.aborts(), world.calls]).toEqual([item, [], []]);
  });

  test.each([
    ["that is silent for too long", [0, 20_000, 20_000, 20_000]],
    ["whose time is up by all clocks", [1_200_000]],
  ])("of an invocation %s is given back, and its message comes back at once", async (_why, pauses) => {
    const world = await open();
    await running(world, "dead", { expires_at: NOW + 10_000_000 });
    await world.alive("invocation-1");
    for (const pause of pauses.slice(0, -1)) {
      await world.clock.sleep(pause);
      expect(await sweep(world.ports, world.name, world.clock.now() + 25_000)).toMatchObject({ settled: 0 });
    }
    await world.clock.sleep(pauses.at(-1) ?? 0);
    world.show(holding(`${world.name}/invocation-1.1`), aPool());
    expect(await sweep(world.ports, world.name, world.clock.now() + 25_000)).toMatchObject({ settled: 1 });
    expect(world.aborts()).toMatchObject([{ episode_uuid: "episode-1" }]);
    expect(await world.stands("dead")).toMatchObject({
      state: "waiting",
      history: [{ reason: "suspected" }],
      suspected: 1,
    });
    expect(world.calls).toEqual([["defer", "receipt-1", 0]]);
  });

  test("whose end the pool shows is recorded, and its message removed", async () => {
    const world = await open();
    await running(world, "ended", { result, result_at: NOW }, { state: "reporting" });
    const client = `${world.name}/invocation-1.1`;
    world.show(
      aPool({
        completed_tasks_details: { "task-1": ["episode-1"] },
        completed_tasks_client_uuids: { "task-1": [client] },
      }),
    );
    expect(await sweep(world.ports, world.name, until)).toMatchObject({ settled: 1, confirmed: 1 });
    expect(await world.stands("ended")).toMatchObject({ state: "ended", confirmed_at: NOW });
    expect(world.calls).toEqual([["delete", "receipt-1"]]);
  });

  test("that used up its last attempt comes back at once, so that its letter is sent", async () => {
    const world = await open();
    await running(world, "last", {}, { attempts: 2, suspected: 2 });
    await sweep(world.ports, world.name, until);
    expect(await world.stands("last")).toMatchObject({ state: "dead", letter: "owed" });
    expect(world.calls).toEqual([["defer", "receipt-1", 0]]);
  });

  test("that crashed before is spread out, since its batch may have died of it", async () => {
    const world = await open();
    const before = { id: "i.0", episode: "e", reason: "crashed", at: 1, from: 0, step: 1 } as const;
    await running(world, "again", {}, { attempts: 1, history: [before] });
    await sweep(world.ports, world.name, until);
    expect(world.calls).toEqual([["defer", "receipt-1", 15]]);
  });

  test("whose fate the engine does not tell is overdue, and its message stays hidden", async () => {
    const world = await open();
    await running(world, "overdue");
    world.show(undefined);
    const swept = await sweep(world.ports, world.name, until);
    expect(swept).toMatchObject({ settled: 0, unsettled: 1, orphans: 0, confirmed: 0 });
    expect([[...swept.overdue], world.calls]).toEqual([[[world.name, 1]], []]);
  });

  test("of a fleet that is not this deployment's is left alone", async () => {
    const world = await open();
    const item = await world.put({ fleet: "other", key: world.name, state: "running", attempt: anAttempt() });
    expect(await sweep(world.ports, world.name, until)).toMatchObject({ settled: 0, unsettled: 0 });
    expect(await world.ports.rollouts.read("other", world.name)).toEqual(item);
  });

  test("that cannot be settled does not keep the others from it", async () => {
    const world = await open();
    await running(world, "broken", {}, { task_id: "broken" });
    await running(world, "whole");
    const { rollouts } = world.ports;
    const read = async (fleet: string, key: string) => {
      if (key === "broken") throw new Error("the table is out of order");
      return await rollouts.read(fleet, key);
    };
    const ports = { ...world.ports, rollouts: { read, move: rollouts.move } };
    expect(await sweep(ports, world.name, until)).toMatchObject({ settled: 1, unsettled: 1 });
  });

  test("a message that cannot be released is no reason to fail", async () => {
    const world = await open();
    await running(world, "missing");
    const fleet = world.ports.fleets.get(world.name);
    if (!fleet) throw new Error("expected the fleet");
    const queue = { ...fleet.queue, defer: () => Promise.reject(new Error("the receipt has expired")) };
    const ports = { ...world.ports, fleets: new Map([[world.name, { ...fleet, queue }]]) };
    expect(await sweep(ports, world.name, until)).toMatchObject({ settled: 1 });
  });
});

test("the rollouts of one dead invocation are one failure for the circuit, those of two are two", async () => {
  const world = await open();
  for (const n of [1, 2, 3]) await running(world, `batch-${n}`, { id: `invocation-1.${n}` });
  await running(world, "elsewhere", { id: "invocation-2.1", invocation: "invocation-2" });
  expect(await sweep(world.ports, world.name, until)).toMatchObject({ settled: 4 });
  expect(await world.gates.read(world.name)).toMatchObject({ failures: 2, last_reason: "suspected" });
});

test("2,000 leftovers at an engine that hangs wait for a few readings of its pool together, and the sweep ends", async () => {
  const world = await open();
  for (let start = 0; start < 2000; start += 100)
    await Promise.all(Array.from({ length: 100 }, (_, n) => running(world, `left-${start + n}`)));
  const clock = new FastClock(20);
  let readings = 0;
  const pool = async () => {
    readings += 1;
    await clock.sleep(10_000);
    throw new EngineError({ failure: "unclear", call: "pool", detail: "no answer within 10 s" });
  };
  const ports = { ...world.ports, clock, engine: { ...world.ports.engine, pool } };
  const swept = await sweep(ports, world.name, clock.now() + 25_000);
  expect(swept).toMatchObject({ settled: 0, unsettled: 2000 });
  expect(readings).toBeLessThanOrEqual(4);
}, 120_000);

test("200 leftovers are settled on one reading of the pool or a few, and each is given back once", async () => {
  const world = await open();
  const episodes = Array.from({ length: 200 }, (_, n) => [`episode-${n}`, `invocation-1.${n}`] as const);
  await Promise.all(
    episodes.map(([episode, id]) => running(world, `left-${id}`, { id, episode }, { task_id: id })),
  );
  const details = episodes.map(([episode, id]) => [episode, { client_uuid: `${world.name}/${id}` }]);
  world.show(aPool({ running_episode_details: Object.fromEntries(details) }));
  let readings = 0;
  const pool = async () => {
    readings += 1;
    return await world.ports.engine.pool();
  };
  const ports = { ...world.ports, engine: { ...world.ports.engine, pool } };
  await sweep(ports, world.name, until);
  expect(new Set(world.aborts().map((body) => (body as { episode_uuid: string }).episode_uuid)).size).toBe(
    200,
  );
  expect(world.aborts()).toHaveLength(200);
  expect(readings).toBeLessThanOrEqual(3);
});

describe("an episode that no rollout knows of", () => {
  const lost = (world: World) => `${world.name}/invocation-1.7`;

  test("is given back where its invocation is dead", async () => {
    const world = await open();
    world.show(holding(lost(world)));
    expect(await sweep(world.ports, world.name, until)).toMatchObject({ orphans: 1 });
    expect(world.aborts()).toMatchObject([{ client_uuid: lost(world), episode_uuid: "episode-1" }]);
  });

  test.each(["1.0s", "61.0s", "500.0s"])(
    "of a living invocation is left to it and to the engine's discard: the index may lag, and a model be slow (idle for %s)",
    async (idle) => {
      const world = await open();
      await world.alive("invocation-1");
      world.show(holding(lost(world), idle));
      expect(await sweep(world.ports, world.name, until)).toMatchObject({ orphans: 0 });
      expect(world.aborts()).toEqual([]);
    },
  );

  test("whose abort was not answered gets no second one at the next sweep", async () => {
    const world = await open();
    world.show(holding(lost(world)));
    expect(await sweep(world.ports, world.name, until)).toMatchObject({ orphans: 1 });
    await world.clock.sleep(20_000);
    expect(await sweep(world.ports, world.name, world.clock.now() + 25_000)).toMatchObject({ orphans: 0 });
    expect(world.aborts()).toHaveLength(1);
  });

  test("is no orphan where a living rollout holds it, however idle", async () => {
    const world = await open();
    await running(world, "idle");
    await world.alive("invocation-1");
    world.show(holding(`${world.name}/invocation-1.1`, "500.0s"));
    expect(await sweep(world.ports, world.name, until)).toMatchObject({ orphans: 0 });
    expect(world.aborts()).toEqual([]);
  });

  test("that somebody else holds at the second look is left alone", async () => {
    const world = await open();
    world.show(holding(lost(world)), holding(`${world.name}/invocation-2.1`));
    expect(await sweep(world.ports, world.name, until)).toMatchObject({ orphans: 0 });
    expect(world.aborts()).toEqual([]);
  });

  test.each(["laptop-1", "other/invocation-1.7", "no-number/x"])(
    "is not ours where %s holds it",
    async (client) => {
      const world = await open();
      world.show(holding(client, "500.0s"));
      expect(await sweep(world.ports, world.name, until)).toMatchObject({ orphans: 0 });
      expect(world.aborts()).toEqual([]);
    },
  );
});
