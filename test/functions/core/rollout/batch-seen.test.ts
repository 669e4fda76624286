import { describe, expect, test } from "vitest";
import type { PoolInformation } from "../../../../functions/core/protocol.ts";
import {
  type BatchSeen,
  type BatchStore,
  recall,
  shortName,
} from "../../../../functions/core/rollout/batch-seen.ts";
import type { Attempt } from "../../../../functions/core/rollout/item.ts";
import { noteBatch } from "../../../../functions/core/rollout/note-batch.ts";
import { settleLeftover } from "../../../../functions/core/rollout/settle.ts";
import type { TrainingStore } from "../../../../functions/core/rollout/training-seen.ts";
import { anAttempt, aPool, NOW, running } from "../items.ts";
import { us } from "../scripted-engine.ts";
import { limits, settleFixture, stored } from "../settle-fixture.ts";

const fleet = { engine: "engine-1", fleet: "main", fleetId: "main" };
const stage = settleFixture();
const noTrainings: TrainingStore = { read: async () => undefined, write: async () => true };

/** What is remembered of an attempt after looks at the pool, ten seconds apart. */
async function remembering(pools: PoolInformation[], attempt: Partial<Attempt> = {}) {
  const items = new Map<number, BatchSeen>();
  const batches: BatchStore = {
    read: async (_, step) => items.get(step),
    write: async (_, _left, next) => items.set(next.step, next) !== undefined,
    trainings: noTrainings,
  };
  let at = NOW;
  for (const pool of pools) {
    at += 10_000;
    await noteBatch(batches, fleet, pool, at);
  }
  const found = anAttempt(attempt);
  const step = found.global_step ?? 0;
  return { memory: recall(found, [items.get(step), items.get(step + 1)]), items };
}

const held = { running_episode_details: { "episode-1": running(us) } };
const beside = { completed_tasks_details: { "task-0": ["episode-0"] } };
const syncing = { engine_status: "ENGINE.WEIGHT_SYNCING" };
const both = { completed_tasks_details: { "task-0": ["episode-0"], "task-1": ["episode-1"] } };

describe("of a batch that has passed it is remembered", () => {
  test("whose end the engine had taken", async () => {
    const clients = { completed_tasks_client_uuids: { "task-1": [us] } };
    expect((await remembering([aPool(clients)])).memory).toBe("ended");
  });

  test("that the trainer has the episode, while no discard was possible before that was seen", async () => {
    expect((await remembering([aPool(held), aPool({ ...syncing, ...both })])).memory).toBe("ended");
    const stale = aPool({ ...both, global_step: 2 });
    expect((await remembering([stale])).memory).toBe("ended");
    const idle = { discard_timeout: 20 };
    expect((await remembering([aPool(held), aPool({ ...syncing, ...both })], idle)).memory).toBe("untold");
  });

  test("that the trainer has the episode from somebody else: everybody is named, and the attempt is not", async () => {
    const idle = { discard_timeout: 20 };
    const others = { completed_tasks_client_uuids: { "task-1": ["main/other.1"] } };
    const one = { completed_tasks_details: { "task-1": ["episode-1"] } };
    const closed = aPool({ ...syncing, ...one });
    expect((await remembering([aPool(held), aPool({ ...one, ...others }), closed], idle)).memory).toBe(
      "undelivered",
    );
    // As the pool shows it once it has forgotten who ended them.
    expect((await remembering([aPool(held), aPool(one), closed], idle)).memory).toBe("untold");
    expect((await remembering([aPool(held), aPool({ ...syncing, ...one, ...others })], idle)).memory).toBe(
      "untold",
    );
    const ours = { completed_tasks_client_uuids: { "task-1": [us] } };
    expect((await remembering([aPool(held), aPool({ ...one, ...ours }), closed], idle)).memory).toBe("ended");
  });

  test("that the trainer closed it without the episode", async () => {
    const pools = [aPool({ ...held, ...beside }), aPool({ ...syncing, ...beside })];
    expect((await remembering(pools)).memory).toBe("undelivered");
  });

  test("… also where the weight sync fell between two looks, and the next batch still shows the old one", async () => {
    const pools = [aPool({ ...held, ...beside }), aPool({ ...beside, global_step: 2 })];
    const { memory, items } = await remembering(pools);
    expect(memory).toBe("undelivered");
    // Those ends are not the new batch's.
    expect(items.get(2)?.looks.flatMap(({ completed }) => completed) ?? []).toEqual([]);
  });
});

describe("nothing can be told", () => {
  test.each<[string, PoolInformation[]]>([
    ["of a batch that nobody saw", []],
    ["while the batch is open", [aPool({ ...held, ...beside })]],
    ["of an attempt that was not seen in it", [aPool(beside), aPool({ ...syncing, ...beside })]],
    ["where the end of the batch was not seen", [aPool({ ...held, ...beside }), aPool({ global_step: 3 })]],
    [
      "after a stop: OFFLINE shows nothing final",
      [aPool({ ...held, ...beside }), aPool({ engine_status: "ENGINE.OFFLINE", global_step: 0 })],
    ],
    [
      "where the engine lost its state, and closed another batch of the same step",
      [
        aPool({ ...held, ...beside }),
        aPool({ ...syncing, completed_tasks_details: { "task-9": ["episode-9"] } }),
      ],
    ],
  ])("%s", async (_why, pools) => {
    expect((await remembering(pools)).memory).toBe("untold");
  });

  test("of an attempt that vanished where nothing shows that it is the same batch, or too short a time ago", async () => {
    const other = aPool({ running_episode_details: { "episode-7": running("main/invocation-9.1") } });
    expect((await remembering([aPool(held), other, other, other])).memory).toBe("untold");
    const without = aPool(beside);
    expect((await remembering([aPool({ ...held, ...beside }), without, without])).memory).toBe("untold");
  });
});

describe("an attempt whose episode the engine took back", () => {
  const with_ = aPool({ ...held, ...beside });
  const without = aPool(beside);
  const gone = { engine_status: "ENGINE.BOOTING", global_step: null };

  test("is remembered as lost once it has been missing for longer than the pool lags behind", async () => {
    expect((await remembering([with_, without, without, without, aPool(gone)])).memory).toBe("lost");
  });

  test("is not where its end shows in the meantime", async () => {
    const ended = aPool({ ...beside, completed_tasks_client_uuids: { "task-1": [us] } });
    expect((await remembering([with_, without, ended, without, without])).memory).toBe("ended");
    expect((await remembering([with_, ended, without, without, without])).memory).toBe("ended");
  });
});

test("what an earlier training had at the same step is not forgotten when a new one begins", async () => {
  const others = { running_episode_details: { "episode-7": running("main/invocation-9.1") } };
  const closed = [aPool({ ...held, ...beside }), aPool({ ...syncing, ...beside })];
  expect((await remembering([...closed, aPool(others)])).memory).toBe("undelivered");
  const taken = aPool({ ...beside, completed_tasks_client_uuids: { "task-1": [us] } });
  const again = [aPool(others), aPool(syncing)];
  expect((await remembering([taken, aPool(syncing), ...again, ...again, aPool(others)])).memory).toBe(
    "ended",
  );
});

test("of earlier trainings as much is kept as fits beside the current one", async () => {
  const holding = (count: number, from: number) =>
    aPool({
      running_episode_details: Object.fromEntries(
        Array.from({ length: count }, (_, index) => [
          `episode-${from + index}`,
          running(`main/i.${from + index}`),
        ]),
      ),
    });
  // Each attempt that holds an episode is two names.
  const trainings = [4000, 1000, 2000].flatMap((count, at) => [holding(count, at * 10_000), aPool(syncing)]);
  const kept = async (count: number) => {
    const { items } = await remembering([...trainings, holding(count, 90_000)]);
    return items.get(1)?.earlier?.map(({ looks }) => looks.flatMap(({ held }) => held).length);
  };
  expect(await kept(10)).toEqual([2000, 1000]);
  expect(await kept(4500)).toBeUndefined();
  expect(await kept(3500)).toEqual([2000]);
});

test("looks that show nothing new are not written", async () => {
  const look = aPool({ ...held, ...beside });
  const once = await remembering([look]);
  const often = await remembering([look, look, look]);
  expect(often.items).toEqual(once.items);
});

test("a batch of thousands stays within what an item holds, and is then not taken for whole", async () => {
  const uuid = (n: number) => `${n.toString(16).padStart(8, "0")}-aaaa-4bbb-8ccc-${"0".repeat(12)}`;
  const many = Array.from({ length: 20_000 }, (_, n) => uuid(n));
  const details = { completed_tasks_details: { "task-0": many.slice(0, 11_000) } };
  const whole = { completed_tasks_details: { "task-0": many } };
  const { items, memory } = await remembering([
    aPool({ ...held, ...details }),
    aPool({ ...held, ...whole }),
    aPool({ ...syncing, ...whole }),
  ]);
  expect(JSON.stringify(items.get(1)).length).toBeLessThan(350_000);
  expect(memory).toBe("untold");
});

test("uuids are shortened, other names are not", () => {
  const uuid = "6b1f3a52-94f2-4d8e-9a37-0c1d2e3f4a5b";
  expect([shortName(uuid), shortName(`${uuid}.7`), shortName("episode-1")]).toEqual([
    "6b1f3a52-94f2",
    "6b1f3a52-94f2.7",
    "episode-1",
  ]);
});

describe("a leftover whose batch has passed", () => {
  const settle = async (pools: PoolInformation[]) => {
    const s = await stage({ pool: ["batch-over"] }, stored, { item: { state: "reporting" } });
    for (const pool of pools) await noteBatch(s.batches, fleet, pool, NOW);
    await settleLeftover(s.ports, limits, s.item, { reason: "crashed", until: NOW + 60_000 });
    return await s.stands();
  };

  test("is ended, with its reward, where its end was seen", async () => {
    const clients = { completed_tasks_client_uuids: { "task-1": [us] } };
    expect(await settle([aPool(clients)])).toMatchObject({ state: "ended", history: [{ reward: 1 }] });
  });

  test("is tried again, at no cost, where the trainer closed the batch without it", async () => {
    const item = await settle([aPool({ ...held, ...beside }), aPool({ ...syncing, ...beside })]);
    expect(item).toMatchObject({
      state: "waiting",
      attempts: 0,
      history: [{ reason: "engine-left-rolling" }],
    });
  });

  test("is unknown where neither was seen", async () => {
    expect(await settle([])).toMatchObject({ state: "unknown" });
  });
});
