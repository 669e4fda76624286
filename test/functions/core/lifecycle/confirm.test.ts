import { describe, expect, test } from "vitest";
import { confirm } from "../../../../functions/core/lifecycle/confirm.ts";
import type { RolloutItem } from "../../../../functions/core/rollout/rollout-item.ts";
import { aPool, NOW } from "../items.ts";
import { type World, worlds } from "./engine-and-table.ts";

const open = worlds();

const ended = (world: World, facts: Partial<RolloutItem> = {}, step: number | null = 1) =>
  world.put({
    key: "ended",
    state: "ended",
    history: [
      { id: "invocation-1.1", episode: "episode-1", reason: "ended", at: NOW, from: NOW, step, reward: 1 },
    ],
    ...facts,
  });
const confirmedAt = async (world: World) => (await world.stands("ended")).confirmed_at;

describe("an end is confirmed", () => {
  test("by the client uuid of its attempt", async () => {
    const world = await open();
    await ended(world);
    const pool = aPool({ completed_tasks_client_uuids: { other: [`${world.name}/invocation-1.1`] } });
    expect(await confirm(world.ports, world.name, pool)).toBe(1);
    expect(await confirmedAt(world)).toBe(NOW);
    expect(await world.store.unconfirmed(world.name, 10)).toEqual([]);
  });

  test("by its episode, where the pool has no client uuids", async () => {
    const world = await open();
    await ended(world);
    const pool = aPool({ completed_tasks_details: { "task-1": ["episode-0", "episode-1"] } });
    expect(await confirm(world.ports, world.name, pool)).toBe(1);
    expect(await confirmedAt(world)).toBe(NOW);
  });

  test("not by another attempt's uuid, nor by another episode", async () => {
    const world = await open();
    await ended(world);
    const pool = aPool({
      completed_tasks_client_uuids: { "task-1": [`${world.name}/invocation-1.2`, "other/invocation-1.1"] },
      completed_tasks_details: { "task-1": ["episode-2"] },
    });
    expect(await confirm(world.ports, world.name, pool)).toBe(0);
    expect(await confirmedAt(world)).toBeUndefined();
  });

  test("not if its rollout belongs to a fleet of another deployment", async () => {
    const world = await open();
    await ended(world, { fleet: "other", key: world.name });
    const pool = aPool({ completed_tasks_details: { "task-1": ["episode-1"] } });
    expect(await confirm(world.ports, world.name, pool)).toBe(0);
  });
});

describe("an end is missing", () => {
  test.each([
    [2, undefined, 0],
    [3, null, 1],
  ])(
    "once a whole batch has passed without it: at step %i of an end in step 1",
    async (step, at, missing) => {
      const world = await open();
      await ended(world);
      expect(await confirm(world.ports, world.name, aPool({ global_step: step }))).toBe(0);
      expect([await confirmedAt(world), await world.store.countMissing(world.name)]).toEqual([at, missing]);
    },
  );

  test.each([
    [24 * 3_600_000, undefined],
    [24 * 3_600_000 + 1, null],
  ])("after a day, where the step is not known: %i ms later", async (ms, at) => {
    const world = await open();
    await ended(world, {}, null);
    await world.clock.sleep(ms);
    await confirm(world.ports, world.name, aPool({ global_step: null }));
    expect(await confirmedAt(world)).toBe(at);
  });

  test("for good: a later pool changes nothing", async () => {
    const world = await open();
    await ended(world);
    await confirm(world.ports, world.name, aPool({ global_step: 3 }));
    const pool = aPool({ completed_tasks_details: { "task-1": ["episode-1"] } });
    expect(await confirm(world.ports, world.name, pool)).toBe(0);
    expect(await confirmedAt(world)).toBeNull();
  });
});

test("an eval end is neither confirmed nor missing, since the pool never shows it", async () => {
  const world = await open();
  const item = await ended(world, { episode_type: "eval" });
  for (const global_step of [1, 9])
    await confirm(
      world.ports,
      world.name,
      aPool({ global_step, completed_tasks_details: { "task-1": ["episode-1"] } }),
    );
  expect([await world.stands("ended"), await world.store.countMissing(world.name)]).toEqual([item, 0]);
});

test("one that cannot be written does not keep the others from it", async () => {
  const world = await open();
  await ended(world, { key: "broken" });
  await ended(world);
  const { rollouts } = world.ports;
  const read = async (fleet: string, key: string) => {
    if (key === "broken") throw new Error("the table is out of order");
    return await rollouts.read(fleet, key);
  };
  const ports = { ...world.ports, rollouts: { read, move: rollouts.move } };
  const pool = aPool({ completed_tasks_details: { "task-1": ["episode-1"] } });
  expect(await confirm(ports, world.name, pool)).toBe(1);
  expect(await confirmedAt(world)).toBe(NOW);
  expect(world.log).toHaveBeenCalledWith("warn", "end could not be confirmed", expect.anything());
});
