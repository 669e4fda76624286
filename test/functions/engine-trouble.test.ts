import { describe, expect, test } from "vitest";
import type { Fault, FaultCall } from "../../local/engine/faults.ts";
import { type FleetFixture, type FleetFixtureOptions, fleetFixtures } from "../support/fleet-fixture.ts";
import { aRollout, keyOf } from "../support/rollouts.ts";

const open = fleetFixtures();
const limits = { claimWaitSeconds: 10 };
/** Real milliseconds: no test waits for the limits of a deployment. */
const timeouts = { get_engine_status: 300, claim_episode: 300 };

const html = { kind: "answer", text: "<html><body>nginx</body></html>", contentType: "text/html" } as const;
const faults: [string, Fault][] = [
  ["is no engine but a web page", { ...html, status: 200 }],
  ["is behind a proxy that cannot reach it", { ...html, status: 502 }],
  ["answers 500", { kind: "answer", status: 500, text: "Internal Server Error", contentType: "text/plain" }],
  ["answers what is no JSON", { kind: "answer", status: 200, text: "{", contentType: "application/json" }],
  ["hangs", { kind: "hang" }],
  ["closes the connection", { kind: "close" }],
];

/** An engine with a fault on these calls, until it is mended. */
async function faulty(fault: Fault, on: (call: FaultCall) => boolean, options: FleetFixtureOptions = {}) {
  const state = { broken: true };
  const house = await open({
    limits,
    timeouts,
    faults: (call) => (state.broken && on(call) ? fault : undefined),
    ...options,
  });
  return { house, mend: () => Object.assign(state, { broken: false }) };
}

/** The message is back in the queue, and nothing else has happened. */
async function expectDeferred(house: FleetFixture, reason: string): Promise<void> {
  expect(house.logged("message deferred")).toMatchObject([{ reason }]);
  expect(await house.item(keyOf())).toBeUndefined();
  expect(house.engine.summary()).toMatchObject({ claimsGranted: 0, open: 0 });
  expect(await house.counts()).toEqual({ visible: 0, inFlight: 1 });
  expect(await house.letters()).toEqual([]);
}

async function expectEnded(house: FleetFixture): Promise<void> {
  expect(house.engine.summary()).toMatchObject({ claimsGranted: 1, counted: 1, open: 0 });
  expect(await house.item(keyOf())).toMatchObject({ state: "ended", attempts: 0, tries: 1 });
  expect(await house.counts()).toEqual({ visible: 0, inFlight: 0 });
}

describe("nothing is lost and no attempt used up by an engine that", () => {
  test.each(faults)("%s", async (_, fault) => {
    const { house, mend } = await faulty(fault, () => true);
    await house.push(aRollout());
    const { records, back } = await house.deliver();
    expect(back).toEqual([records[0]?.messageId]);
    await expectDeferred(house, "not-rolling");
    mend();
    expect((await house.deliverAgain(records)).back).toEqual([]);
    await expectEnded(house);
  });

  test("is not there", async () => {
    const house = await open({ limits, timeouts });
    await house.push(aRollout());
    const restarted = house.engine.restart({ keepState: true, downSeconds: 30 });
    const { records, back } = await house.deliver();
    expect(back).toEqual([records[0]?.messageId]);
    await expectDeferred(house, "not-rolling");
    await restarted;
    expect((await house.deliverAgain(records)).back).toEqual([]);
    await expectEnded(house);
  });

  test.each(faults)("at a claim %s", async (_, fault) => {
    const { house, mend } = await faulty(fault, ({ path }) => path === "/claim_episode");
    await house.push(aRollout());
    const { records, back } = await house.deliver();
    expect(back).toEqual([records[0]?.messageId]);
    await expectDeferred(house, "engine-error");
    mend();
    expect((await house.deliverAgain(records)).back).toEqual([]);
    await expectEnded(house);
  });

  test("has no episode to give", async () => {
    const house = await open({ limits });
    const others = Array.from({ length: 20 }, (_, index) =>
      house.ports.engine.claim({
        client_uuid: `other-${index}`,
        episode_type: "train",
        discard_episode_timeout: 240,
        throttle_policy: null,
      }),
    );
    await Promise.all(others);
    await house.push(aRollout());
    expect((await house.deliver()).back).toHaveLength(1);
    expect(house.logged("message deferred")).toMatchObject([{ reason: "no-episodes" }]);
    expect(await house.item(keyOf())).toBeUndefined();
  });
});

describe("a claim whose answer is lost", () => {
  const lost: [string, Fault][] = [
    ["by a broken connection", { kind: "act-then-close" }],
    ["since it came too late", { kind: "delay", seconds: 20 }],
  ];
  test.each(lost)("%s: the episode that was given away is found and used", async (_, fault) => {
    const { house } = await faulty(fault, ({ path }) => path === "/claim_episode");
    await house.push(aRollout());
    expect((await house.deliver()).back).toEqual([]);
    expect(house.logged("claim answer was lost, episode found")).toHaveLength(1);
    await expectEnded(house);
  });
});

describe("an end whose answer is lost", () => {
  const lost: [string, Fault, number][] = [
    ["after the engine took it: not sent again", { kind: "act-then-close" }, 1],
    ["before the engine saw it: sent again", { kind: "close" }, 2],
    ["by a 500 in its place: sent again", { kind: "answer", status: 500, text: "Internal Server Error" }, 2],
  ];
  test.each(lost)("%s, and ends once", async (_, fault, ends) => {
    let sent = 0;
    const { house } = await faulty(fault, ({ path }) => {
      if (path === "/end_episode") sent += 1;
      return path === "/end_episode" && sent === 1;
    });
    await house.push(aRollout());
    expect((await house.deliver()).back).toEqual([]);
    expect(sent).toBe(ends);
    await expectEnded(house);
  });

  test("until the function's time is up: the next delivery reports the stored result", async () => {
    let agentRuns = 0;
    const { house, mend } = await faulty({ kind: "close" }, ({ path }) => path === "/end_episode", {
      agent: async (_task, episode) => {
        agentRuns += 1;
        await episode.chat({ messages: [{ role: "user", content: "?" }] });
        return { reward: 0.75 };
      },
    });
    await house.push(aRollout());
    const records = await house.receive();
    expect(await house.run(records, { seconds: 90 })).toEqual([records[0]?.messageId]);
    expect(await house.item(keyOf())).toMatchObject({
      state: "reporting",
      attempt: { result: { reward: 0.75 } },
    });
    mend();
    expect((await house.deliverAgain(records)).back).toEqual([]);
    expect(agentRuns).toBe(1);
    expect(house.engine.summary()).toMatchObject({ counted: 1, rewardMean: 0.75 });
    await expectEnded(house);
  });
});
