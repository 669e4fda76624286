import { describe, expect, test } from "vitest";
import { FastClock } from "../support/fast-clock.ts";
import { type FleetFixture, fleetFixtures } from "../support/fleet-fixture.ts";
import { answerOf, functionProcesses } from "../support/function-process.ts";
import { aRollout, keyOf } from "../support/rollouts.ts";

const open = fleetFixtures();
const start = functionProcesses();
/** With real time, since another process takes part; a process that is silent for 1.25 s counts as dead. */
const real = { speed: 1, limits: { settleMarginSeconds: 2, minEpisodeSeconds: 0, heartbeatSeconds: 1 } };

/** Until the table says that this rollout's process is dead. */
async function silence(house: FleetFixture): Promise<void> {
  for (let looks = 0; looks < 2; looks += 1) {
    expect(await house.sweep()).toMatchObject({ settled: 0 });
    await house.clock.sleep(1300);
  }
}

/** As the sweep does, which then settles at once. */
async function declareDead(house: FleetFixture): Promise<void> {
  const { attempt } = (await house.item(keyOf())) ?? {};
  const [invocation] = await house.invocations.readAll([attempt?.invocation ?? ""]);
  if (!invocation) throw new Error("expected the item of the invocation, found none");
  expect(await house.invocations.declareDead(invocation, house.clock.now())).toBe(true);
}

describe("the function's answer", () => {
  test("names exactly the messages that come back", async () => {
    const house = await open(real);
    const bodies = [aRollout({ task_id: "a" }), aRollout({ task_id: "b", env_type: "throw" }), "not JSON"];
    await house.push(...bodies);
    const records = await house.receive(3);
    const bad = records.find(({ body }) => body === bodies[1]);
    const result = await start(house).invoke(records);
    expect(answerOf(result)).toEqual({ batchItemFailures: [{ itemIdentifier: bad?.messageId }] });
    expect(await house.counts()).toEqual({ visible: 0, inFlight: 1 });
    expect(await house.letters()).toMatchObject([{ body: "not JSON", facts: { reason: "invalid-message" } }]);
    expect(house.engine.summary()).toMatchObject({ counted: 1, aborts: 1, open: 0 });
  });

  test("is an empty list when all are done with", async () => {
    const house = await open(real);
    await house.push(aRollout());
    expect(answerOf(await start(house).invoke(await house.receive()))).toEqual({ batchItemFailures: [] });
  });
});

describe("a process that is killed while its agent works", () => {
  test("is swept: the episode given back, the message visible at once, the rollout tried again", async () => {
    const house = await open(real);
    await house.push(aRollout({ env_type: "hang" }));
    const lambda = start(house);
    const invoked = lambda.invoke(await house.receive());
    await house.until(() => house.engine.summary().modelCalls === 1);
    lambda.kill();
    expect(await invoked).toMatchObject({ status: "error", error: { type: "Runtime.ExitError" } });
    expect(await house.counts()).toEqual({ visible: 0, inFlight: 1 });
    await silence(house);
    expect(await house.sweep()).toMatchObject({ settled: 1, unsettled: 0 });
    expect(house.engine.summary()).toMatchObject({ aborts: 1, open: 0 });
    expect(await house.item(keyOf())).toMatchObject({
      attempts: 0,
      suspected: 1,
      history: [{ reason: "suspected" }],
    });
    expect(await house.counts()).toEqual({ visible: 1, inFlight: 0 });
    expect((await house.deliver()).back).toEqual([]);
    expect(house.engine.summary()).toMatchObject({ counted: 1, open: 0 });
  });

  test("a second time is spread out over minutes, so that a batch does not die together again", async () => {
    const house = await open(real);
    Object.assign(house.ports, { random: () => 0.5 });
    await house.push(aRollout({ env_type: "hang" }), aRollout({ task_id: "b", env_type: "hang" }));
    const lambda = start(house);
    const visible: number[] = [];
    for (const calls of [2, 4]) {
      const invoked = lambda.invoke(await house.receive(2));
      await house.until(() => house.engine.summary().modelCalls === calls);
      lambda.kill();
      await invoked;
      await silence(house);
      expect(await house.sweep()).toMatchObject({ settled: 2 });
      visible.push((await house.counts()).visible);
    }
    expect(visible).toEqual([2, 0]);
    expect(await house.item(keyOf())).toMatchObject({ state: "waiting", attempts: 0, suspected: 2 });
    expect(house.engine.summary()).toMatchObject({ open: 0 });
  });

  test("is left alone by a sweep as long as it lives", async () => {
    const house = await open({ ...real, limits: { ...real.limits, heartbeatSeconds: 60 } });
    await house.push(aRollout({ env_type: "hang" }));
    const lambda = start(house);
    const invoked = lambda.invoke(await house.receive());
    await house.until(() => house.engine.summary().modelCalls === 1);
    expect(await house.sweep()).toMatchObject({ settled: 0, unsettled: 0, orphans: 0, confirmed: 0 });
    expect(house.engine.summary()).toMatchObject({ aborts: 0, open: 1 });
    lambda.kill();
    await invoked;
  });
});

describe("a process that is killed after its result was stored", () => {
  /** The engine takes the request to end, and is silent: then the process dies. */
  async function killedAtTheEnd(fault: "hang" | "delay") {
    let ends = 0;
    const house = await open({
      ...real,
      faults: ({ path }) => {
        if (path !== "/end_episode") return undefined;
        ends += 1;
        if (ends > 1) return undefined;
        return fault === "hang" ? { kind: "hang" } : { kind: "delay", seconds: 60 };
      },
    });
    await house.push(aRollout());
    const records = await house.receive();
    const lambda = start(house);
    const invoked = lambda.invoke(records);
    await house.until(() => ends === 1);
    lambda.kill();
    await invoked;
    expect(await house.item(keyOf())).toMatchObject({
      state: "reporting",
      attempt: { result: { reward: 0.5 } },
    });
    await declareDead(house);
    await house.release(records);
    return { house, sent: () => ends };
  }

  test("before the engine took the reward: the next delivery reports it, without the agent", async () => {
    const { house, sent } = await killedAtTheEnd("hang");
    expect(await house.run(await house.receive(), { clock: new FastClock(20) })).toEqual([]);
    expect(sent()).toBe(2);
    expect(house.engine.summary()).toMatchObject({
      claimsGranted: 1,
      modelCalls: 1,
      counted: 1,
      rewardMean: 0.5,
      open: 0,
    });
    expect(await house.item(keyOf())).toMatchObject({ state: "ended", attempts: 0, tries: 1 });
  });

  test("after the engine took the reward: the next delivery sees that, and sends nothing", async () => {
    const { house, sent } = await killedAtTheEnd("delay");
    expect(await house.run(await house.receive(), { clock: new FastClock(20) })).toEqual([]);
    expect(sent()).toBe(1);
    expect(house.engine.summary()).toMatchObject({ claimsGranted: 1, counted: 1, open: 0 });
    expect(await house.item(keyOf())).toMatchObject({ state: "ended", attempts: 0, tries: 1 });
  });
});

describe("an agent that misbehaves with its whole process", () => {
  test("by blocking the event loop is found and charged; its neighbour is not", async () => {
    const house = await open(real);
    await house.push(aRollout({ env_type: "block" }), aRollout({ task_id: "neighbour", env_type: "hang" }));
    const environment = { SORTIE_AGENT_BLOCK_SECONDS: "2" };
    const records = await house.receive(2);
    const back = answerOf(await start(house, { environment }).invoke(records)).batchItemFailures;
    expect(back).toHaveLength(2);
    expect(house.engine.summary()).toMatchObject({ open: 0, aborts: 2 });
    const detail = expect.stringMatching(/^the agent blocked the event loop for 2 s, in agent/);
    expect(await house.item(keyOf())).toMatchObject({
      attempts: 1,
      history: [{ reason: "agent-error", detail }],
    });
    expect(await house.item(keyOf("neighbour"))).toMatchObject({
      attempts: 0,
      history: [{ reason: "disturbed" }],
    });
  });

  test("by ending it fails by itself; its neighbour ends", async () => {
    const house = await open(real);
    await house.push(aRollout({ env_type: "exit" }), aRollout({ task_id: "neighbour" }));
    const back = answerOf(await start(house).invoke(await house.receive(2))).batchItemFailures;
    expect(back).toHaveLength(1);
    expect(house.engine.summary()).toMatchObject({ counted: 1, aborts: 1, open: 0 });
    const detail = expect.stringMatching(/^called process\.exit\(1\)/);
    expect(await house.item(keyOf())).toMatchObject({ history: [{ reason: "agent-error", detail }] });
    expect(await house.item(keyOf("neighbour"))).toMatchObject({ state: "ended", attempts: 0 });
  });

  test("by a rejected promise that nobody waits for harms nobody, and has it in its log", async () => {
    const house = await open(real);
    await house.push(aRollout({ env_type: "reject-later" }), aRollout({ task_id: "neighbour" }));
    const result = await start(house).invoke(await house.receive(2));
    expect(answerOf(result)).toEqual({ batchItemFailures: [] });
    expect(house.engine.summary()).toMatchObject({ counted: 2, open: 0 });
    const [line] = house.log.filter(({ message }) => message.includes("unhandledRejection"));
    expect(JSON.parse(line?.message ?? "{}")).toMatchObject({
      message: "unhandledRejection",
      rollout: keyOf(),
      error: "Error: nobody waited for this",
    });
  });

  test("by an error that a timer throws fails by itself; its neighbour ends", async () => {
    const house = await open(real);
    await house.push(aRollout({ env_type: "throw-later" }), aRollout({ task_id: "neighbour" }));
    const result = await start(house).invoke(await house.receive(2));
    expect(answerOf(result).batchItemFailures).toHaveLength(1);
    expect(house.engine.summary()).toMatchObject({ counted: 1, aborts: 1, open: 0 });
    const detail = "Error: nobody waited for this (thrown where nothing catches it)";
    expect(await house.item(keyOf())).toMatchObject({ history: [{ reason: "agent-error", detail }] });
  });
});

describe("an episode that no rollout remembers", () => {
  test("of a dead invocation of this fleet is given back; another client's is not touched", async () => {
    const house = await open(real);
    const claim = { episode_type: "train", discard_episode_timeout: 240, throttle_policy: null } as const;
    await house.ports.engine.claim({ ...claim, client_uuid: `${house.limits.fleetId}/died-at-once.1` });
    await house.ports.engine.claim({ ...claim, client_uuid: "somebody-else" });
    // A fleet of the same name in another deployment, on the same engine.
    await house.ports.engine.claim({ ...claim, client_uuid: `${house.fleet}@5e6f7a8b/lives-there.1` });
    expect(await house.sweep()).toMatchObject({ orphans: 1, settled: 0 });
    expect(house.engine.ledger.of("abort")).toMatchObject([
      { holder: `${house.limits.fleetId}/died-at-once.1` },
    ]);
    expect(house.engine.summary()).toMatchObject({ open: 2 });
  });
});
