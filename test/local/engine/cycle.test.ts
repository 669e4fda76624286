/** The stand-in cycles by itself, as a training does. */
import { afterEach, describe, expect, test } from "vitest";
import type { EngineConfig } from "../../../local/engine/config.ts";
import { type StandIn, standIn } from "./stand-in.ts";

let at: StandIn | undefined;
afterEach(() => at?.engine.close());

async function begin(config: Partial<EngineConfig> = {}): Promise<StandIn> {
  at = await standIn({ config });
  return at;
}

/** A whole batch of two tasks. */
async function fill({ worker, advance }: StandIn): Promise<void> {
  for (const [task, reward] of [
    ["t1", 1],
    ["t1", 0],
    ["t2", 1],
    ["t2", 0],
  ] as const)
    await worker.run(task, reward);
  await advance(0.1);
}

function statuses({ engine }: StandIn): string[] {
  return engine.ledger.of("status").map(({ status }) => status.replace("ENGINE.", ""));
}

describe("a training", () => {
  test("goes round from boot to its second step, and offers as many episodes again", async () => {
    const it = await begin();
    await fill(it);
    await it.advance(5);
    expect(statuses(it)).toEqual(["BOOTING", "ROLLING", "ROLLING_POST", "WEIGHT_SYNCING", "ROLLING"]);
    expect(it.engine.inspect()).toMatchObject({ globalStep: 2, unclaimed: 4, open: 0 });
    expect(it.engine.summary()).toMatchObject({
      claimsGranted: 4,
      endsAccepted: 4,
      counted: 4,
      rewardMean: 0.5,
    });
  });

  test("keeps all slots busy until the batch is complete", async () => {
    const it = await begin();
    for (const task of ["a", "b", "c", "d", "e"]) {
      await it.worker.run(task, 1);
      await it.advance(0.25);
      expect(it.engine.inspect()).toMatchObject({ status: "ENGINE.ROLLING", unclaimed: 4 });
    }
  });

  test("waits in ROLLING_POST for a claimed episode, until it is discarded", async () => {
    const it = await begin();
    await it.worker.claim({ client: "zombie", discardSeconds: 60 });
    for (const [task, reward] of [
      ["t1", 1],
      ["t1", 0],
      ["t2", 1],
    ] as const)
      await it.worker.run(task, reward);
    await it.advance(0.25);
    await it.worker.run("t2", 0);
    await it.advance(50);
    expect(it.engine.inspect().status).toBe("ENGINE.ROLLING_POST");
    await it.advance(20);
    expect(it.engine.ledger.of("discard")).toMatchObject([{ clientUuid: "zombie" }]);
    expect(it.engine.inspect()).toMatchObject({ status: "ENGINE.ROLLING", globalStep: 2 });
  });

  test("ends after its last step: OFFLINE, step 0", async () => {
    const it = await begin({ totalSteps: 1 });
    await fill(it);
    await it.advance(60);
    expect(it.engine.inspect()).toMatchObject({ status: "ENGINE.OFFLINE", globalStep: 0 });
  });

  test("takes batch and repeats from the config that was synced", async () => {
    const it = await begin({ startRolling: false });
    const yaml = "ajet:\n  data:\n    train_batch_size: 1\n  rollout:\n    num_repeat: 3\n";
    await it.wire.call("/sync_train_config", { yaml_as_string: yaml });
    await it.wire.call("/start_engine", {});
    await it.advance(4);
    expect(it.engine.inspect().unclaimed).toBe(3);
    for (const reward of [1, 0, 1]) await it.worker.run("t", reward);
    await it.advance(5);
    expect(it.engine.inspect().globalStep).toBe(2);
  });

  test("gets a lost slot back with the next batch", async () => {
    const it = await begin();
    await it.worker.run("t", null);
    await it.advance(10);
    expect(it.engine.inspect().unclaimed).toBe(3);
    it.engine.forceWeightSync();
    await it.advance(4);
    expect(it.engine.inspect()).toMatchObject({ globalStep: 2, unclaimed: 4 });
  });

  test("wipes claimed episodes when weights are synced in their midst", async () => {
    const it = await begin();
    const uuid = await it.worker.claim({ client: "late" });
    it.engine.forceWeightSync();
    expect(it.engine.ledger.of("wiped")).toMatchObject([{ clientUuid: "late", episodeUuid: uuid }]);
    expect(it.engine.inspect()).toMatchObject({ status: "ENGINE.WEIGHT_SYNCING", open: 0 });
    await it.advance(4);
    expect(await it.worker.end("late", uuid, "t", 1)).toEqual({ detail: `Episode ${uuid} not found.` });
  });
});

describe("a batch is complete", () => {
  const runs = async (it: StandIn, samples: readonly (readonly [string, number])[]) => {
    for (const [task, reward] of samples) await it.worker.run(task, reward);
    await it.advance(0.25);
    return it.engine.inspect().status;
  };

  test("with enough episodes, whatever their tasks", async () => {
    const it = await begin({ collectionMethod: "rollout_until_finish_enough_episodes" });
    expect(
      await runs(it, [
        ["a", 1],
        ["b", 1],
        ["c", 1],
      ]),
    ).toBe("ENGINE.ROLLING");
    expect(await runs(it, [["d", 1]])).not.toBe("ENGINE.ROLLING");
  });

  test("with enough tasks whose rewards differ", async () => {
    const it = await begin({ collectionMethod: "rollout_until_finish_enough_non_dummy_tasks" });
    expect(
      await runs(it, [
        ["a", 1],
        ["a", 1],
        ["b", 1],
        ["b", 1],
      ]),
    ).toBe("ENGINE.ROLLING");
    expect(
      await runs(it, [
        ["c", 1],
        ["c", 0],
        ["a", 0],
      ]),
    ).not.toBe("ENGINE.ROLLING");
  });

  test("when any client agrees to a weight sync", async () => {
    const it = await begin({ collectionMethod: "rollout_until_any_client_agree_sync_weight" });
    expect(await runs(it, [["a", 1]])).toBe("ENGINE.ROLLING");
    await it.wire.call("/agree_sync_weight", { client_uuid: "client-a" });
    expect(it.engine.inspect().status).toBe("ENGINE.ROLLING_POST");
  });

  test("when all clients agree that did not declare themselves inactive", async () => {
    const it = await begin({ collectionMethod: "rollout_until_all_clients_agree_sync_weight" });
    await it.worker.run("a", 1, { client: "client-a" });
    const quiet = await it.worker.claim({ client: "quiet" });
    await it.worker.end("quiet", quiet, "a", 1, { declare_client_active: false });
    await it.worker.run("a", 1, { client: "client-b" });
    await it.wire.call("/agree_sync_weight", { client_uuid: "client-a" });
    expect(it.engine.inspect().status).toBe("ENGINE.ROLLING");
    await it.wire.call("/agree_sync_weight", { client_uuid: "client-b" });
    expect(it.engine.inspect().status).toBe("ENGINE.ROLLING_POST");
  });
});

describe("the trainer is late", () => {
  test("the pool shows an ended episode after its lag", async () => {
    const it = await begin({ poolLagSeconds: 9 });
    const uuid = await it.worker.run("t", 1);
    const pool = () => it.wire.call("/get_current_batch_rollout_pool_information");
    await it.advance(8.9);
    expect(await pool()).toMatchObject({ completed_tasks_details: {} });
    await it.advance(0.2);
    expect(await pool()).toMatchObject({ completed_tasks_details: { t: [uuid] } });
  });

  test("ends wait for each other where threads run out", async () => {
    const it = await begin({ waitingThreads: 1, ackSeconds: 3 });
    const uuids = [await it.worker.claim(), await it.worker.claim()];
    const ends = [];
    for (const uuid of uuids) {
      const output = { reward: 1, metadata: { task_id: "t" } };
      const body = { client_uuid: "client-a", episode_uuid: uuid, task_id: "t", workflow_output: output };
      ends.push(await it.wire.send("POST", "/end_episode", JSON.stringify(body)));
    }
    for (const sent of ends) await it.wire.answer(sent);
    const [sentAt, ...answeredAt] = [
      ends[0]?.sentAt ?? 0,
      ...(await Promise.all(ends.map((one) => one.answeredAt))),
    ];
    expect(answeredAt.map((time) => time - sentAt)).toEqual([3000, 6000]);
  });

  test("an abort may take longer than an end, which is answered meanwhile", async () => {
    const it = await begin();
    it.engine.delayResets(20);
    const send = async (path: string) => {
      const uuid = await it.worker.claim();
      const output = { reward: 1, metadata: { task_id: "t" } };
      const body = { client_uuid: "client-a", episode_uuid: uuid, task_id: "t", workflow_output: output };
      return await it.wire.send("POST", path, JSON.stringify(body));
    };
    const sent = [await send("/abort_episode"), await send("/end_episode")];
    for (const one of sent.toReversed()) expect(await it.wire.answer(one)).toMatchObject({ status: 200 });
    const took = await Promise.all(sent.map(async (one) => (await one.answeredAt) - one.sentAt));
    expect(took).toEqual([20_000, 0]);
  });
});

test("the same seed gives the same episodes, another seed others", async () => {
  const uuidsOf = async (seed: number) => {
    const it = await standIn({ seed });
    const uuids = it.engine.inspect().episodes.map(({ episode_uuid }) => episode_uuid);
    await it.engine.close();
    return uuids;
  };
  const [first, again, other] = [await uuidsOf(7), await uuidsOf(7), await uuidsOf(8)];
  expect(first).toHaveLength(4);
  expect(again).toEqual(first);
  expect(first.filter((uuid) => other.includes(uuid))).toEqual([]);
});
