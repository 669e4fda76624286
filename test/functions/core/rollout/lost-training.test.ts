import { describe, expect, test } from "vitest";
import type { PoolInformation } from "../../../../functions/core/protocol.ts";
import type { BatchSeen, BatchStore } from "../../../../functions/core/rollout/batch-seen.ts";
import { isTrainingLost } from "../../../../functions/core/rollout/lost-training.ts";
import { noteBatch } from "../../../../functions/core/rollout/note-batch.ts";
import { settleLeftover } from "../../../../functions/core/rollout/settle.ts";
import { anAttempt, aPool, NOW, running } from "../items.ts";
import { us } from "../scripted-engine.ts";
import { limits, settleFixture, stored } from "../settle-fixture.ts";

const fleet = { engine: "engine-1", fleet: "main", fleetId: "main" };
const stage = settleFixture();
const held = { running_episode_details: { "episode-1": running(us) } };
const other = { running_episode_details: { "episode-7": running("main/invocation-9.1") } };
const syncing = { engine_status: "ENGINE.WEIGHT_SYNCING" };
const beside = { completed_tasks_details: { "task-0": ["episode-0"] } };

/** Whether the training of an attempt at step 3 is lost, after looks `apart` ms apart. */
async function lost(
  pools: PoolInformation[],
  facts: { step?: number | null; vanished?: boolean; apart?: number; claimedAt?: number } = {},
) {
  const items = new Map<number, BatchSeen>();
  const batches: BatchStore = {
    read: async (_, step) => items.get(step),
    write: async (_, _left, next) => items.set(next.step, next) !== undefined,
  };
  let now = NOW;
  for (const pool of pools) {
    now += facts.apart ?? 10_000;
    await noteBatch(batches, fleet, pool, now);
  }
  const { step = 3, vanished = false } = facts;
  const attempt = anAttempt({ global_step: step, claimed_at: facts.claimedAt ?? NOW });
  const own = step === null ? undefined : items.get(step);
  const steps = { own, next: items.get((step ?? 0) + 1), first: items.get(1) };
  return isTrainingLost(attempt, { pool: pools.at(-1) ?? aPool(), vanished }, steps);
}

describe("the training of an attempt is lost", () => {
  test.each<[string, PoolInformation[]]>([
    [
      "where the engine rolls at an earlier step",
      [aPool({ global_step: 3, ...held }), aPool({ global_step: 1 })],
    ],
    ["where nothing at all was seen before", [aPool({ global_step: 2 })]],
  ])("%s", async (_, pools) => {
    expect(await lost(pools)).toBe(true);
  });

  test("where it rolls at the same step, and knows nothing of the episode", async () => {
    const same = [aPool({ global_step: 3, ...held }), aPool({ global_step: 3 })];
    expect([await lost(same, { vanished: true }), await lost(same)]).toEqual([true, false]);
  });

  test("where another one was seen at its first step, by more than clocks may differ, and has come further since", async () => {
    const pools = [
      aPool({ global_step: 3, ...held }),
      aPool({ global_step: 1, ...other }),
      aPool({ global_step: 5 }),
    ];
    expect([await lost(pools, { apart: 310_000 }), await lost(pools, { apart: 290_000 })]).toEqual([
      true,
      false,
    ]);
  });
});

describe("nothing says that it is", () => {
  test.each<[string, PoolInformation[]]>([
    ["where the engine has gone on", [aPool({ global_step: 3, ...held }), aPool({ global_step: 4 })]],
    [
      "while the engine does not roll",
      [aPool({ global_step: 3, ...held }), aPool({ engine_status: "ENGINE.OFFLINE", global_step: 0 })],
    ],
    [
      "where it was seen at the next step, before another one began",
      [aPool({ global_step: 3, ...held }), aPool({ global_step: 4, ...other }), aPool({ global_step: 1 })],
    ],
    [
      "where it was seen to close the batch, before another one began",
      [
        aPool({ global_step: 3, ...held, ...beside }),
        aPool({ global_step: 3, ...syncing, ...beside }),
        aPool({ global_step: 1 }),
      ],
    ],
  ])("%s", async (_, pools) => {
    expect(await lost(pools)).toBe(false);
  });

  test("where it was seen at the next step, although the clock of the claim was minutes ahead of the others", async () => {
    const gone = [
      aPool({ global_step: 3, ...held }),
      aPool({ global_step: 4, ...other }),
      aPool({ global_step: 1 }),
    ];
    expect(await lost(gone, { claimedAt: NOW + 290_000 })).toBe(false);
    expect(await lost(gone.slice(1), { claimedAt: NOW + 290_000 })).toBe(false);
  });

  test("of an attempt at the first step, once a later one rolls, and of one without a step", async () => {
    const later = [aPool({ global_step: 1, ...other }), aPool({ global_step: 5 })];
    expect([await lost(later, { step: 1 }), await lost(later, { step: null })]).toEqual([false, false]);
  });
});

test("a leftover of a training that is lost is tried again, at no cost", async () => {
  const s = await stage(
    { pool: ["nowhere"] },
    { ...stored, global_step: 2 },
    { item: { state: "reporting" } },
  );
  await settleLeftover(s.ports, limits, s.item, { reason: "crashed", until: NOW + 60_000 });
  expect(await s.stands()).toMatchObject({
    state: "waiting",
    attempts: 0,
    history: [{ reason: "engine-left-rolling", detail: "the training ended before it had used this batch" }],
  });
});
