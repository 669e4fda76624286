/** What two published versions of the server do differently, and what neither recording shows. */
import { afterEach, describe, expect, test } from "vitest";
import { type EngineConfig, engineVersions, threadsFor } from "../../../local/engine/config.ts";
import { settled } from "../../support/virtual-clock.ts";
import { type StandIn, standIn } from "./stand-in.ts";

let at: StandIn | undefined;
afterEach(() => at?.engine.close());

async function begin(config: Partial<EngineConfig> = {}): Promise<StandIn> {
  at = await standIn({ config });
  return at;
}
const pool = (it: StandIn) => it.wire.call("/get_current_batch_rollout_pool_information");
const status = (it: StandIn) => it.wire.call("/get_engine_status");
const offline = { engine_status: "ENGINE.OFFLINE", engine_status_detail: null, global_step: 0 };

describe.each(engineVersions)("the training process is gone (%s)", (engineVersion) => {
  test("after a stop: OFFLINE, step 0", async () => {
    const it = await begin({ engineVersion });
    await it.wire.call("/stop_engine", {});
    expect(await status(it)).toEqual(offline);
    expect(await pool(it)).toMatchObject({ engine_status: "ENGINE.OFFLINE", global_step: 0 });
  });

  test("after a stop while it boots, and while it syncs: the same", async () => {
    const it = await begin({ engineVersion });
    it.engine.forceWeightSync();
    await it.wire.call("/stop_engine", {});
    expect(await status(it)).toEqual(offline);
    await it.wire.call("/start_engine", {});
    expect(await status(it)).toMatchObject({ engine_status: "ENGINE.BOOTING", global_step: 0 });
    await it.wire.call("/stop_engine", {});
    expect(await status(it)).toEqual(offline);
  });

  test.each(["rolls", "boots", "syncs"])(
    "by a crash while it %s: OFFLINE, step 0, a moment later",
    async (does) => {
      const it = await begin({ engineVersion });
      if (does === "syncs") it.engine.forceWeightSync();
      if (does === "boots") {
        await it.wire.call("/stop_engine", {});
        await it.wire.call("/start_engine", {});
      }
      const { status: before } = it.engine.inspect();
      it.engine.killTrainer();
      await it.advance(0.9);
      expect(it.engine.inspect().status).toBe(before);
      await it.advance(0.2);
      expect(await status(it)).toEqual(offline);
      await it.advance(600);
      expect(await status(it)).toEqual(offline);
    },
  );

  test("and its launcher too: the status stays as it was", async () => {
    const it = await begin({ engineVersion });
    it.engine.killTrainer({ launcher: false });
    await it.advance(600);
    expect(await status(it)).toMatchObject({ engine_status: "ENGINE.ROLLING", global_step: 1 });
  });

  test("after the configured total of steps: the last one syncs, then OFFLINE, step 0", async () => {
    const it = await begin({ engineVersion, startRolling: false });
    const yaml_as_string = "ajet:\n  trainer_common:\n    total_training_steps: 2\n";
    await it.wire.call("/sync_train_config", { yaml_as_string });
    await it.wire.call("/start_engine", {});
    await it.advance(5);
    it.engine.finishBatch();
    await it.advance(8);
    expect(await status(it)).toMatchObject({ engine_status: "ENGINE.ROLLING", global_step: 2 });
    it.engine.finishBatch();
    await it.advance(1);
    expect(await status(it)).toMatchObject({ engine_status: "ENGINE.WEIGHT_SYNCING", global_step: 2 });
    await it.advance(8);
    expect(await status(it)).toEqual(offline);
  });

  test("and the detail keeps its last text", async () => {
    const it = await begin({ engineVersion });
    const said = { engine_status: "ENGINE.ROLLING", engine_status_detail: "collecting" };
    await it.wire.call("/update_engine_status", said);
    await it.wire.call("/stop_engine", {});
    expect(await status(it)).toEqual({ ...offline, engine_status_detail: "collecting" });
  });
});

test("a crash that nobody has noticed yet is not posted into the next training", async () => {
  const it = await begin();
  it.engine.killTrainer();
  await it.wire.call("/stop_engine", {});
  await it.wire.call("/start_engine", {});
  await it.advance(5);
  expect(await status(it)).toMatchObject({ engine_status: "ENGINE.ROLLING", global_step: 1 });
});

describe("a start of an engine that is not OFFLINE", () => {
  test("older: a second trainer", async () => {
    const it = await begin({ engineVersion: "older" });
    expect(await it.wire.call("/start_engine", {})).toMatchObject({ success: true });
    expect(it.engine.inspect().trainers).toBe(2);
  });

  test("newer: 400", async () => {
    const it = await begin({ engineVersion: "newer" });
    const reply = await it.wire.answer(await it.wire.send("POST", "/start_engine", "{}"));
    expect(reply.status).toBe(400);
    expect(JSON.parse(reply.text)).toEqual({ detail: expect.stringContaining("already started") });
    expect(it.engine.inspect()).toMatchObject({ status: "ENGINE.ROLLING", trainers: 1 });
  });
});

/** An end that the trainer has not acknowledged. */
async function waitingEnd(it: StandIn) {
  const uuid = await it.worker.claim({ policyTask: "t" });
  await it.worker.callModel(uuid);
  it.engine.delayAcknowledgements(10_000);
  const workflow_output = { reward: 1, metadata: { task_id: "t" } };
  const body = { client_uuid: "client-a", episode_uuid: uuid, task_id: "t", workflow_output };
  return await it.wire.send("POST", "/end_episode", JSON.stringify(body));
}

describe("an end that is not acknowledged", () => {
  test.each([
    ["older", 500, "Internal Server Error", { endsAccepted: 0, endsRefused: 1, endsUndelivered: 0 }],
    ["newer", 200, '{"success":true}', { endsAccepted: 1, endsRefused: 0, endsUndelivered: 1 }],
  ] as const)(
    "when the engine leaves its rolling states, %s: %i",
    async (engineVersion, code, text, counts) => {
      const it = await begin({ engineVersion });
      const sent = await waitingEnd(it);
      it.engine.forceWeightSync();
      expect(await it.wire.answer(sent)).toMatchObject({ status: code, text });
      expect(it.engine.summary()).toMatchObject({ ...counts, counted: 0 });
      expect(await pool(it)).toMatchObject({ completed_tasks_client_uuids: {} });
    },
  );

  test.each([
    ["older", 300, {}],
    ["newer", 300, {}],
    ["newer", 7, { unacknowledgedSeconds: 7 }],
  ] as const)(
    "succeeds all the same, %s, after %i s: only its client's uuid is written",
    async (engineVersion, limit, more) => {
      const it = await begin({ engineVersion, ...more });
      const sent = await waitingEnd(it);
      expect(await it.wire.answer(sent)).toMatchObject({ status: 200, text: '{"success":true}' });
      expect((await sent.answeredAt) - sent.sentAt).toBe(limit * 1000);
      expect(it.engine.summary()).toMatchObject({ endsAccepted: 1, endsUndelivered: 1, counted: 0 });
      await it.advance(30);
      expect(await pool(it)).toMatchObject({
        completed_tasks_client_uuids: { t: ["client-a"] },
        completed_tasks_details: {},
        completed_episodes: 0,
      });
      it.engine.forceWeightSync();
      expect(await pool(it)).toMatchObject({ completed_tasks_client_uuids: {} });
    },
  );
});

test("a newer engine's abort succeeds too when the engine leaves its rolling states", async () => {
  const it = await begin();
  const uuid = await it.worker.claim();
  it.engine.delayAcknowledgements(10_000);
  const body = { client_uuid: "client-a", episode_uuid: uuid, task_id: "", workflow_output: {} };
  const sent = await it.wire.send("POST", "/abort_episode", JSON.stringify(body));
  await settled();
  it.engine.forceWeightSync();
  expect(await it.wire.answer(sent)).toMatchObject({ status: 200, text: '{"success":true}' });
});

test("the pool of the old batch stays until the first report of the new one, its clients do not", async () => {
  const it = await begin();
  const uuid = await it.worker.run("t", 1, { policyTask: "t" });
  await it.advance(1);
  const old = {
    completed_episodes: 1,
    completed_tasks_details: { t: [uuid] },
    completed_tasks_client_uuids: {},
  };
  it.engine.forceWeightSync();
  expect(await pool(it)).toMatchObject({ ...old, engine_status: "ENGINE.WEIGHT_SYNCING", global_step: 1 });
  await it.advance(5);
  expect(await pool(it)).toMatchObject({ ...old, engine_status: "ENGINE.ROLLING", global_step: 2 });
  await it.advance(12);
  expect(await pool(it)).toMatchObject({ completed_episodes: 0, completed_tasks_details: {} });
});

describe("a pool that the server cannot build", () => {
  test("is 200 with every field at its default, and the buffer answers 500", async () => {
    const it = await begin({ unreadablePools: 1 });
    await it.worker.run("t", 1, { policyTask: "t" });
    await it.advance(1);
    expect(await pool(it)).toEqual({
      sample_collection_method: "",
      completed_episodes: 0,
      completed_episode_target: 0,
      completed_tasks: 0,
      completed_task_target: 0,
      completed_non_dummy_tasks: 0,
      completed_non_dummy_task_target: 0,
      task_expected_num_repeat: 0,
      completed_tasks_details: {},
      completed_tasks_client_uuids: {},
      completed_tasks_rewards: {},
      running_episode_details: null,
      engine_status: null,
      global_step: null,
      booting_start_time: null,
    });
    const buffer = await it.wire.answer(await it.wire.send("POST", "/get_episode_buffer", "{}"));
    expect(buffer).toMatchObject({ status: 500, text: "Internal Server Error" });
  });

  test("comes as often as is set", async () => {
    const it = await begin({ unreadablePools: 0.25 });
    const answers: unknown[] = [];
    for (let one = 0; one < 200; one += 1) answers.push(await pool(it));
    const failed = answers.filter((answer) => (answer as { engine_status: unknown }).engine_status === null);
    expect(failed.length).toBeGreaterThan(30);
    expect(failed.length).toBeLessThan(70);
  });
});

test.each([
  [1, 5],
  [2, 6],
  [28, 32],
  [256, 32],
])("on %i cores %i ends and aborts can wait at once", (cores, threads) => {
  expect(threadsFor(cores)).toBe(threads);
});
