import { describe, expect, test } from "vitest";
import { confirm } from "../../../../functions/core/housekeeping/confirm.ts";
import type { PoolInformation } from "../../../../functions/core/protocol.ts";
import type { RolloutItem } from "../../../../functions/core/rollout/item.ts";
import { noteBatch } from "../../../../functions/core/rollout/note-batch.ts";
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
/** What a sweep keeps of a look at the pool. */
const look = async (world: World, pool: PoolInformation) =>
  await noteBatch(
    world.ports.batches,
    { engine: world.name, fleet: world.name, fleetId: world.name },
    pool,
    world.clock.now(),
  );
const confirmedAt = async (world: World) => (await world.stands("ended")).confirmed_at;

describe("an end is confirmed", () => {
  test("by its episode in the trainer's own list", async () => {
    const world = await open();
    await ended(world);
    const pool = aPool({ completed_tasks_details: { "task-1": ["episode-0", "episode-1"] } });
    expect(await confirm(world.ports, world.name, pool)).toBe(1);
    expect(await confirmedAt(world)).toBe(NOW);
    expect(await world.store.unconfirmed(world.name, 10)).toEqual([]);
  });

  test("not by the client uuid of its attempt: the server writes that at any end, delivered or not", async () => {
    const world = await open();
    await ended(world);
    const pool = aPool({ completed_tasks_client_uuids: { "task-1": [`${world.name}/invocation-1.1`] } });
    expect(await confirm(world.ports, world.name, pool)).toBe(0);
    expect(await confirmedAt(world)).toBeUndefined();
  });

  test("by what was seen of its batch, although the engine has gone on", async () => {
    const world = await open();
    await ended(world);
    await look(world, aPool({ completed_tasks_details: { "task-1": ["episode-1"] } }));
    expect(await confirm(world.ports, world.name, aPool({ global_step: 4 }))).toBe(1);
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
  /** The attempt is seen at work, beside an end that counts; then the trainer closes the batch with that one alone. */
  const closed = async (world: World, episodes: string[]) => {
    const details = { completed_tasks_details: { "task-0": ["episode-0"] } };
    const held = { "episode-1": { client_uuid: `${world.name}/invocation-1.1` } };
    await look(world, aPool({ ...details, running_episode_details: held }));
    const engine_status = "ENGINE.WEIGHT_SYNCING";
    await look(world, aPool({ engine_status, completed_tasks_details: { "task-0": episodes } }));
  };

  test("once the trainer has closed its batch without it, and for good", async () => {
    const world = await open();
    await ended(world);
    await closed(world, ["episode-0"]);
    expect(await confirm(world.ports, world.name, aPool({ global_step: 2 }))).toBe(0);
    expect([await confirmedAt(world), await world.store.countMissing(world.name)]).toEqual([null, 1]);
    const late = aPool({ completed_tasks_details: { "task-1": ["episode-1"] } });
    expect(await confirm(world.ports, world.name, late)).toBe(0);
    expect(await confirmedAt(world)).toBeNull();
  });

  test("not where the engine came to the step again without its state: another batch says nothing", async () => {
    const world = await open();
    await ended(world);
    await closed(world, ["episode-9"]);
    await confirm(world.ports, world.name, aPool({ global_step: 3 }));
    expect([await confirmedAt(world), await world.store.countMissing(world.name)]).toEqual([undefined, 0]);
    expect(await world.stands("ended")).toMatchObject({ unseen_at: NOW });
  });
});

describe("an end is unseen, which is not missing,", () => {
  test.each([
    [1, undefined],
    [2, undefined],
    [3, NOW],
  ])("once its batch has passed between two looks: at step %i of an end in step 1", async (step, at) => {
    const world = await open();
    await ended(world);
    expect(await confirm(world.ports, world.name, aPool({ global_step: step }))).toBe(0);
    expect([await confirmedAt(world), await world.store.countMissing(world.name)]).toEqual([undefined, 0]);
    expect((await world.stands("ended")).unseen_at).toBe(at);
    expect(await world.store.unconfirmed(world.name, 10)).toHaveLength(at === undefined ? 1 : 0);
  });

  test.each([
    [24 * 3_600_000, false],
    [24 * 3_600_000 + 1, true],
  ])("after a day, where the step is not known: %i ms later", async (ms, isUnseen) => {
    const world = await open();
    await ended(world, {}, null);
    await world.clock.sleep(ms);
    await confirm(world.ports, world.name, aPool({ global_step: null }));
    expect((await world.stands("ended")).unseen_at !== undefined).toBe(isUnseen);
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
