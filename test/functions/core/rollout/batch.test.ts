import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createChat } from "../../../../functions/adapters/engine/index.ts";
import type { Agent } from "../../../../functions/contract/agent.ts";
import type { QueueRecord } from "../../../../functions/core/queue.ts";
import type { Kind } from "../../../../local/engine/ledger.ts";
import { type Fleet, startFleet } from "../fleet.ts";
import { anOpenItem } from "../items.ts";

let fleet: Fleet;
beforeEach(async () => {
  fleet = await startFleet();
});
afterEach(async () => {
  expect(fleet.standIn.inspect().open).toBe(0);
  await fleet.close();
});

const solves: Agent = async (_task, { chat }) => {
  await chat({ messages: [{ role: "user", content: "2+2?" }] });
  return { reward: 1 };
};
const fails: Agent = async () => {
  throw new Error("boom");
};
const body = (task_id: string) => JSON.stringify({ task: { task_id }, run: "r" });
const keyOf = (task_id: string) => `run/r/train/0/${task_id}`;
const item = (task_id: string) => fleet.rollouts.read("main", keyOf(task_id));
const count = (wanted: Kind) => fleet.standIn.ledger.entries.filter(({ kind }) => kind === wanted).length;
const outputs = () => count("output");
const claims = () => count("claim");
const only = (records: QueueRecord[]): QueueRecord => {
  const [record] = records;
  if (!record || records.length > 1) throw new Error(`expected one record, found ${records.length}`);
  return record;
};

describe("a batch", () => {
  test("ends its rollouts at the engine, remembers them, and leaves nothing behind", async () => {
    const records = await fleet.deliver(body("a"), body("b"), body("c"));
    expect(await fleet.run(records, { agent: solves })).toEqual([]);
    expect(outputs()).toBe(3);
    expect(await item("a")).toMatchObject({
      state: "ended",
      tries: 1,
      history: [{ reason: "ended", reward: 1, calls: 1 }],
    });
    expect(await fleet.depth()).toEqual({ visible: 0, in_flight: 0, delayed: 0 });
    expect(await fleet.invocations.read("invocation-1")).toBeUndefined();
  });

  test("with a message that is no rollout buries that one, and its neighbours go on", async () => {
    const records = await fleet.deliver("no json", body("a"));
    expect(await fleet.run(records, { agent: solves })).toEqual([]);
    expect(await fleet.letter()).toEqual({ body: "no json", reason: "invalid-message" });
    expect((await item("a"))?.state).toBe("ended");
  });

  test("with a rollout that fails gives back that one alone, and its episode", async () => {
    const records = await fleet.deliver(body("good"), body("bad"));
    const agent: Agent = (task, episode) =>
      task.task_id === "bad" ? fails(task, episode) : solves(task, episode);
    const bad = records.find((record) => record.body === body("bad"));
    expect(await fleet.run(records, { agent })).toEqual([bad?.messageId]);
    expect(await item("bad")).toMatchObject({
      state: "waiting",
      attempts: 1,
      history: [{ reason: "agent-error" }],
    });
    expect(await fleet.depth()).toEqual({ visible: 0, in_flight: 1, delayed: 0 });
  });

  test("whose table does not answer gives every message back and claims nothing", async () => {
    const records = await fleet.deliver(body("a"), body("b"));
    const alive = () => Promise.reject(new Error("no table"));
    const gone = async () => false;
    const invocations = { alive, beat: gone, done: gone, read: async () => undefined };
    const back = await fleet.run(records, { agent: solves, ports: { invocations } });
    expect(back).toEqual(records.map(({ messageId }) => messageId));
    expect(claims()).toBe(0);
  });

  test("whose queue does not answer is still done with what has ended", async () => {
    const records = await fleet.deliver(body("a"));
    const down = () => Promise.reject(new Error("no queue"));
    const queue = { receive: down, defer: down, show: down, delete: down, sendDeadLetter: down };
    expect(await fleet.run(records, { agent: solves, ports: { queue } })).toEqual([]);
    expect(fleet.logged).toContain("message not deleted yet");
  });

  test("keeps a message that cannot be buried", async () => {
    const records = await fleet.deliver("no json");
    const queue = {
      ...fleet.ports(solves).queue,
      sendDeadLetter: () => Promise.reject(new Error("no queue")),
    };
    expect(await fleet.run(records, { agent: solves, ports: { queue } })).toEqual([only(records).messageId]);
  });
});

describe("a batch whose invocation keeps its places full", () => {
  const places = (count: number) => ({ places: count });

  test("takes what else is in the queue, never more at once than it has places, and leaves nothing", async () => {
    const records = await fleet.deliver(body("a"));
    await fleet.push(...["b", "c", "d", "e"].map(body));
    let running = 0;
    let most = 0;
    const agent: Agent = async (task, episode) => {
      running += 1;
      most = Math.max(most, running);
      await expect
        .poll(() => running, { timeout: 200 })
        .toBe(2)
        .catch(() => undefined);
      const result = await solves(task, episode);
      running -= 1;
      return result;
    };
    expect(await fleet.run(records, { agent, limits: places(2) })).toEqual([]);
    expect([outputs(), most]).toEqual([5, 2]);
    expect(await fleet.depth()).toEqual({ visible: 0, in_flight: 0, delayed: 0 });
    expect(await fleet.invocations.read("invocation-1")).toBeUndefined();
  });

  test("defers what fails by its visibility, and names only the event's own to the event source", async () => {
    const records = await fleet.deliver(body("a"));
    await fleet.push(body("bad"));
    const agent: Agent = (task, episode) =>
      task.task_id === "bad" ? fails(task, episode) : solves(task, episode);
    expect(await fleet.run(records, { agent, limits: places(2) })).toEqual([]);
    expect(await item("bad")).toMatchObject({ state: "waiting", attempts: 1 });
    expect(await fleet.depth()).toEqual({ visible: 0, in_flight: 1, delayed: 0 });
  });

  test("whose queue gives nothing more still ends its own", async () => {
    const records = await fleet.deliver(body("a"));
    const queue = { ...fleet.ports(solves).queue, receive: () => Promise.reject(new Error("no queue")) };
    expect(await fleet.run(records, { agent: solves, limits: places(2), ports: { queue } })).toEqual([]);
    expect((await item("a"))?.state).toBe("ended");
    expect(fleet.logged).toContain("no further messages could be taken");
  });
});

describe("a rollout", () => {
  test("that fails as often as it may becomes a dead letter with its reason", async () => {
    const records = await fleet.deliver(body("a"));
    const { messageId } = only(records);
    expect(await fleet.run(records, { agent: fails })).toEqual([messageId]);
    expect(await fleet.run(records, { agent: fails })).toEqual([messageId]);
    expect(await fleet.run(records, { agent: fails })).toEqual([]);
    expect(await fleet.letter()).toEqual({ body: body("a"), reason: "agent-error" });
    expect(await item("a")).toMatchObject({ state: "dead", attempts: 3, tries: 3, letter: "sent" });
    expect(outputs()).toBe(0);
  });

  test("that is delivered again after its end runs no agent and claims nothing", async () => {
    const records = await fleet.deliver(body("a"));
    await fleet.run(records, { agent: solves });
    const before = claims();
    expect(await fleet.run(records, { agent: fails })).toEqual([]);
    expect([claims(), outputs()]).toEqual([before, 1]);
  });

  test("that is dead, with its letter owed, gets it at the next delivery, and only once", async () => {
    const records = await fleet.deliver(body("a"));
    const queue = {
      ...fleet.ports(fails).queue,
      sendDeadLetter: () => Promise.reject(new Error("no queue")),
    };
    for (let n = 0; n < 3; n += 1) await fleet.run(records, { agent: fails, ports: { queue } });
    expect([(await item("a"))?.letter, await fleet.letter()]).toEqual(["owed", undefined]);
    for (let n = 0; n < 2; n += 1) expect(await fleet.run(records, { agent: fails })).toEqual([]);
    expect(await fleet.letter()).toMatchObject({ reason: "agent-error" });
    expect(await fleet.letter()).toBeUndefined();
  });

  test("that waits for an engine uses up no attempt, however often", async () => {
    fleet.standIn.setStatus("ENGINE.WEIGHT_SYNCING");
    const records = await fleet.deliver(body("a"));
    for (let n = 0; n < 5; n += 1)
      expect(await fleet.run(records, { agent: solves })).toEqual([only(records).messageId]);
    expect([await item("a"), claims()]).toEqual([undefined, 0]);
    fleet.standIn.setStatus("ENGINE.ROLLING");
  });

  test("claims nothing when less time is left than an episode needs", async () => {
    const records = await fleet.deliver(body("a"));
    expect(await fleet.run(records, { agent: solves, seconds: 49 })).toEqual([only(records).messageId]);
    expect([claims(), await item("a")]).toEqual([0, undefined]);
  });

  test("that two deliveries run at the same time ends once", async () => {
    const records = await fleet.deliver(body("a"));
    await Promise.all([fleet.run(records, { agent: solves }), fleet.run(records, { agent: solves })]);
    await fleet.run(records, { agent: solves });
    expect(outputs()).toBe(1);
    expect(await item("a")).toMatchObject({ state: "ended", tries: 1 });
  });

  test("whose claim was granted although the answer was lost goes on with that episode", async () => {
    let cut = 0;
    fleet.setFault(({ path }) => {
      if (!path.endsWith("claim_episode") || cut > 0) return undefined;
      cut += 1;
      return { kind: "act-then-close" };
    });
    const records = await fleet.deliver(body("a"));
    expect(await fleet.run(records, { agent: solves })).toEqual([]);
    expect([cut, claims(), outputs()]).toEqual([1, 1, 1]);
  });
});

describe("what a dead invocation left", () => {
  /** An attempt of an invocation that is gone: the agent has run, and its result is stored. */
  async function leftover(records: QueueRecord[], result: boolean) {
    const { engine, clock } = fleet.ports(solves);
    const uuid = "main/gone-1.1";
    const policy = { ratio: 1.5, expected_batch_size: 9, expected_num_repeat: 1, current_task_id: "a" };
    const request = { client_uuid: uuid, episode_type: "train" as const, discard_episode_timeout: 240 };
    const { global_step } = await engine.status();
    const grant = await engine.claim({ ...request, throttle_policy: policy });
    const model = createChat({
      baseUrl: grant.openai_base_url,
      apiKey: grant.openai_api_key,
      signal: new AbortController().signal,
      clock,
    });
    await model.chat({ messages: [{ role: "user", content: "2+2?" }] });
    const now = clock.now();
    const attempt = {
      id: "gone-1.1",
      invocation: "gone-1",
      episode: grant.episode_uuid,
      global_step: global_step ?? null,
      claimed_at: now,
      expires_at: now + 1_920_000,
      receipt: only(records).receipt,
      ...(result
        ? { result: { reward: 0.5, is_success: null, metadata: {}, log_metrics: {} }, result_at: now }
        : {}),
    };
    const open = anOpenItem(
      { key: keyOf("a"), task_id: "a", run: "r", state: result ? "reporting" : "running" },
      attempt,
    );
    await fleet.rollouts.move(undefined, open);
    return { engine, open, uuid };
  }

  test("a stored result is reported by the next delivery, and the agent does not run again", async () => {
    const records = await fleet.deliver(body("a"));
    await leftover(records, true);
    expect(await fleet.run(records, { agent: fails })).toEqual([]);
    expect(await item("a")).toMatchObject({
      state: "ended",
      tries: 1,
      history: [{ reason: "ended", reward: 0.5 }],
    });
    expect(outputs()).toBe(1);
  });

  test("an end that the engine took already is not sent again", async () => {
    const records = await fleet.deliver(body("a"));
    const { engine, open, uuid } = await leftover(records, true);
    const workflow_output = { reward: 0.5, is_success: null, metadata: {}, log_metrics: {} };
    await engine.end({
      client_uuid: uuid,
      episode_uuid: open.attempt.episode,
      task_id: "a",
      workflow_output,
    });
    await expect
      .poll(async () => JSON.stringify((await engine.pool()).completed_tasks_details))
      .toContain('"a"');
    expect(await fleet.run(records, { agent: fails })).toEqual([]);
    expect(await item("a")).toMatchObject({ state: "ended", tries: 1 });
    expect(count("end")).toBe(1);
  });

  test("an episode without a result is given back, and the rollout tried again at once", async () => {
    const records = await fleet.deliver(body("a"));
    await leftover(records, false);
    expect(await fleet.run(records, { agent: solves })).toEqual([]);
    expect(await item("a")).toMatchObject({
      state: "ended",
      attempts: 0,
      tries: 2,
      history: [{ reason: "suspected" }, { reason: "ended" }],
    });
  });

  test("the episode of an invocation that lives is left alone", async () => {
    const records = await fleet.deliver(body("a"));
    const { engine, open, uuid } = await leftover(records, true);
    const now = Date.now();
    const life = {
      id: "gone-1",
      fleet: "main",
      alive_at: now,
      silent_at: now + 60_000,
      ends_at: now + 60_000,
    };
    await fleet.invocations.alive(life);
    expect(await fleet.run(records, { agent: fails })).toEqual([only(records).messageId]);
    expect(await item("a")).toEqual(open);
    await engine.abort(uuid, open.attempt.episode);
  });
});
