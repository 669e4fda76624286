import { describe, expect, test } from "vitest";
import type { Agent } from "../../functions/contract/agent.ts";
import { askOnce, fleetFixtures } from "../support/fleet-fixture.ts";
import { aRollout, keyOf } from "../support/rollouts.ts";

const open = fleetFixtures();

/** Fails as often as told, then behaves. */
function failing(times: number, fail: () => unknown): Agent {
  let calls = 0;
  return async (task, episode) => {
    calls += 1;
    if (calls > times) return await askOnce(task, episode);
    await askOnce(task, episode);
    return fail() as Awaited<ReturnType<Agent>>;
  };
}
function throws(): never {
  throw new Error("no such tool");
}

describe("an agent that throws", () => {
  test("has its episode aborted and its message deferred, and is run again", async () => {
    const house = await open({ agent: failing(1, throws) });
    await house.push(aRollout());
    const { records, back } = await house.deliver();
    expect(back).toEqual([records[0]?.messageId]);
    expect(house.logged("message deferred")).toMatchObject([{ reason: "agent-error" }]);
    expect(house.engine.summary()).toMatchObject({ aborts: 1, counted: 0, open: 0 });
    expect(await house.item(keyOf())).toMatchObject({
      state: "waiting",
      attempts: 1,
      history: [{ reason: "agent-error", detail: "Error: no such tool" }],
    });
    expect(await house.counts()).toEqual({ visible: 0, inFlight: 1 });

    expect((await house.deliverAgain(records)).back).toEqual([]);
    expect(house.engine.summary()).toMatchObject({ counted: 1, rewardMean: 1, open: 0 });
    expect(await house.item(keyOf())).toMatchObject({ state: "ended", attempts: 1, tries: 2 });
    expect(await house.letters()).toEqual([]);
  });

  test("three times makes a dead letter that says why, with the body as it was", async () => {
    const house = await open({ agent: failing(3, throws) });
    const body = aRollout();
    await house.push(body);
    let delivered = await house.deliver();
    delivered = await house.deliverAgain(delivered.records);
    delivered = await house.deliverAgain(delivered.records);
    expect(delivered.back).toEqual([]);
    const item = await house.item(keyOf());
    expect(item).toMatchObject({ state: "dead", attempts: 3, tries: 3, letter: "sent" });
    const episodes = house.engine.ledger.of("claim").map(({ episodeUuid }) => episodeUuid);
    expect(episodes).toHaveLength(3);
    expect(await house.letters()).toEqual([
      {
        body,
        facts: {
          reason: "agent-error",
          error: "Error: no such tool",
          fleet: house.fleet,
          rollout: keyOf(),
          attempts: "3",
          episodes: episodes.join(","),
          died_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
        },
      },
    ]);
    expect(house.engine.summary()).toMatchObject({ aborts: 3, counted: 0, open: 0 });
    expect(await house.counts()).toEqual({ visible: 0, inFlight: 0 });
  });

  test("is not run again when the dead rollout's message comes once more", async () => {
    const house = await open({ agent: failing(9, throws), limits: { maxAttempts: 1 } });
    await house.push(aRollout(), aRollout());
    await house.deliver();
    expect((await house.deliver()).back).toEqual([]);
    expect(house.engine.summary()).toMatchObject({ claimsGranted: 1, aborts: 1, counted: 0 });
    expect(await house.letters()).toHaveLength(1);
  });
});

describe("what an agent returns", () => {
  const outputs: [string, unknown, RegExp][] = [
    ["null", null, /expected a WorkflowOutput/],
    ["nothing", undefined, /expected a WorkflowOutput/],
    ["a reward of null", { reward: null }, /expected a finite number as reward, found null/],
    ["a list of rewards", { reward: [1, 0] }, /expected a finite number as reward, found \[1, 0\]/],
    ["NaN", { reward: Number.NaN }, /expected a finite number as reward, found NaN/],
    ["text", { reward: "1" }, /expected a finite number as reward, found "1"/],
  ];
  test.each(outputs)("%s never reaches the trainer, which would lose a slot", async (_, output, detail) => {
    const house = await open({ agent: failing(1, () => output) });
    await house.push(aRollout());
    expect((await house.deliver()).back).toHaveLength(1);
    expect(house.engine.summary()).toMatchObject({ aborts: 1, endsAccepted: 0, slotsLost: 0, open: 0 });
    const item = await house.item(keyOf());
    expect(item).toMatchObject({ state: "waiting", attempts: 1, history: [{ reason: "invalid-output" }] });
    expect(item?.history[0]?.detail).toMatch(detail);
  });

  test("a list of rewards is reported where the fleet allows it", async () => {
    const agent: Agent = async (task, episode) => ({ ...(await askOnce(task, episode)), reward: [1, 0] });
    const house = await open({ agent, limits: { allowUnusualRewards: true } });
    await house.push(aRollout());
    expect((await house.deliver()).back).toEqual([]);
    expect(house.engine.ledger.of("output")).toMatchObject([{ output: { reward: [1, 0] } }]);
  });

  test("a result with 1 MB of metadata keeps its reward, and a note in the place of what is too large", async () => {
    const metadata = { transcript: "x".repeat(1_000_000), turns: 3 };
    const agent: Agent = async (task, episode) => ({
      ...(await askOnce(task, episode)),
      reward: 0.25,
      metadata,
    });
    const house = await open({ agent });
    await house.push(aRollout());
    expect((await house.deliver()).back).toEqual([]);
    const [output] = house.engine.ledger.of("output");
    expect(output?.output).toMatchObject({
      reward: 0.25,
      metadata: { transcript: "left out: 1000002 bytes", turns: 3, task_id: "task-1" },
    });
    expect(house.logged("result shortened to fit the table")).toMatchObject([
      { shortened: ["metadata.transcript"] },
    ]);
  });

  test("a result without any model call is reported, and said to be worth nothing", async () => {
    const house = await open({ agent: async () => ({ reward: 1 }) });
    await house.push(aRollout());
    expect((await house.deliver()).back).toEqual([]);
    expect(house.logged("agent made no model call: the trainer drops such an episode")).toHaveLength(1);
    expect(house.engine.summary()).toMatchObject({ dropped: 1, counted: 0, open: 0 });
  });
});

describe("an agent that hangs", () => {
  const hangs: Agent = () => new Promise(() => undefined);

  test("is left at the deadline, and its episode is settled before the function's time is up", async () => {
    const house = await open({ agent: hangs, limits: { settleMarginSeconds: 45, minEpisodeSeconds: 10 } });
    await house.push(aRollout());
    const records = await house.receive();
    const endsAt = house.clock.now() + 60_000;
    expect(await house.run(records, { seconds: 60 })).toEqual([records[0]?.messageId]);
    const [abort] = house.engine.ledger.of("abort");
    expect(abort).toMatchObject({ effect: "reverted" });
    expect(abort?.at).toBeLessThan(endsAt);
    expect(await house.item(keyOf())).toMatchObject({ attempts: 1, history: [{ reason: "deadline" }] });
    expect(house.engine.summary()).toMatchObject({ open: 0, counted: 0 });
  });

  test("harms no neighbour: those end and are deleted while it still hangs", async () => {
    const agent: Agent = (task, episode) => (task.task_id === "bad" ? hangs : askOnce)(task, episode);
    const house = await open({ agent, limits: { settleMarginSeconds: 20, minEpisodeSeconds: 10 } });
    await house.push(aRollout({ task_id: "bad" }), aRollout({ task_id: "good" }));
    const records = await house.receive(2);
    const running = house.run(records, { seconds: 60 });
    await house.until(() => house.engine.summary().counted === 1);
    await expect.poll(() => house.counts()).toEqual({ visible: 0, inFlight: 1 });
    expect(await running).toHaveLength(1);
    expect(house.engine.summary()).toMatchObject({ counted: 1, aborts: 1, open: 0 });
  });

  test("is not begun when less time is left than an episode needs", async () => {
    const house = await open({ limits: { settleMarginSeconds: 30, minEpisodeSeconds: 60 } });
    await house.push(aRollout());
    const records = await house.receive();
    expect(await house.run(records, { seconds: 80 })).toHaveLength(1);
    expect(house.logged("message deferred")).toMatchObject([{ reason: "no-time" }]);
    expect(house.engine.summary()).toMatchObject({ claimsGranted: 0 });
    expect(await house.item(keyOf())).toBeUndefined();
  });
});
