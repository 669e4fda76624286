import { describe, expect, test } from "vitest";
import { FAILURES_TO_TRIP } from "../../functions/core/circuit/gate.ts";
import { askOnce, fleetFixtures } from "../support/fleet-fixture.ts";
import { aRollout, keyOf } from "../support/rollouts.ts";

const open = fleetFixtures();

describe("a fleet that somebody paused", () => {
  test("claims nothing, loses nothing, and goes on when it is resumed", async () => {
    const house = await open();
    await house.gates.setPaused(house.fleet, { at: house.clock.now(), why: "new data" });
    await house.push(aRollout(), "no rollout");
    const { records, back } = await house.deliver(2);
    expect(back).toHaveLength(1);
    expect(house.logged("message deferred")).toMatchObject([
      { reason: "paused", seconds: 7200, until: "the gate opens" },
    ]);
    expect(house.engine.summary()).toMatchObject({ claimsGranted: 0, claimsRefused: 0 });
    expect(await house.letters()).toMatchObject([{ body: "no rollout" }]);
    await house.gates.setPaused(house.fleet, undefined);
    const mine = records.filter(({ messageId }) => back.includes(messageId));
    expect((await house.deliverAgain(mine)).back).toEqual([]);
    expect(await house.item(keyOf())).toMatchObject({ state: "ended", attempts: 0 });
  });
});

describe("a fleet that is paused while its rollouts wait for the engine", () => {
  test("claims nothing when the engine is ready, and defers them", async () => {
    const house = await open({ limits: { claimWaitSeconds: 120 } });
    house.engine.setStatus("ENGINE.WEIGHT_SYNCING");
    await house.push(aRollout());
    const delivered = house.deliver();
    await house.clock.sleep(15_000);
    await house.gates.setPaused(house.fleet, { at: house.clock.now(), why: "new data" });
    await house.clock.sleep(6000);
    house.engine.setStatus("ENGINE.ROLLING");
    expect((await delivered).back).toHaveLength(1);
    expect(house.engine.summary()).toMatchObject({ claimsGranted: 0, claimsRefused: 0, open: 0 });
    expect(house.logged("message deferred")).toMatchObject([{ reason: "closed" }]);
    expect(await house.item(keyOf())).toBeUndefined();
  });
});

describe("a probe that comes to no attempt", () => {
  test("is given back: the next rollout may probe at once", async () => {
    const house = await open({ limits: { claimWaitSeconds: 1 } });
    const now = house.clock.now();
    for (let n = 0; n < FAILURES_TO_TRIP; n += 1) await house.gates.fail(house.fleet, "agent-error");
    await house.gates.trip(house.fleet, now, now);
    house.engine.setStatus("ENGINE.WEIGHT_SYNCING");
    await house.push(aRollout());
    const { records } = await house.deliver();
    expect(house.logged("message deferred")).toMatchObject([{ reason: "not-rolling" }]);
    expect(await house.gates.read(house.fleet)).toMatchObject({ probes: 0 });

    house.engine.setStatus("ENGINE.ROLLING");
    await house.until(() => house.engine.inspect().unclaimed > 0);
    expect((await house.deliverAgain(records)).back).toEqual([]);
    expect(await house.item(keyOf())).toMatchObject({ state: "ended" });
    const succeeded_at = expect.any(Number);
    expect(await house.gates.read(house.fleet)).toEqual({ failures: 0, probes: 0, succeeded_at });
  });
});

describe("rollouts that fail although others succeed", () => {
  test("come to their end also where only they are left: they open no circuit", async () => {
    const house = await open({
      agent: async (task, episode) => {
        if (task.metadata["bad"]) throw new Error("no such file");
        return await askOnce(task, episode);
      },
    });
    const bad = Array.from({ length: FAILURES_TO_TRIP / 2 + 1 }, (_, repeat) => repeat);
    await house.push(...bad.map((repeat) => aRollout({ metadata: { bad: true } }, repeat)));
    let { records } = await house.deliver(bad.length);
    await house.push(aRollout({ task_id: "good" }));
    await house.clock.sleep(6000);
    await house.deliver();
    for (let attempt = 2; attempt <= 3; attempt += 1) {
      await house.clock.sleep(6000);
      ({ records } = await house.deliverAgain(records));
    }
    const items = await Promise.all(bad.map((repeat) => house.item(keyOf("task-1", repeat))));
    expect(items.map((item) => item?.state)).toEqual(bad.map(() => "dead"));
    expect(house.logged("circuit opened: the fleet slows down")).toEqual([]);
    expect(await house.gates.read(house.fleet)).toMatchObject({ failures: 0 });
  });
});

describe("a fleet whose attempts fail one after another", () => {
  test("slows down to single probes, which cost nothing, until one succeeds", async () => {
    let isBroken = true;
    const house = await open({
      agent: async (task, episode) => {
        if (isBroken) throw new Error("the judge is down");
        return await askOnce(task, episode);
      },
    });
    const keys = Array.from({ length: FAILURES_TO_TRIP }, (_, repeat) => keyOf("task-1", repeat));
    await house.push(...keys.map((_, repeat) => aRollout({}, repeat)));
    const attempts = async () => {
      const items = await Promise.all(keys.map((key) => house.item(key)));
      return items.reduce((sum, item) => sum + (item?.attempts ?? 0), 0);
    };
    let { records } = await house.deliver(FAILURES_TO_TRIP);
    expect(house.engine.summary()).toMatchObject({ claimsGranted: FAILURES_TO_TRIP, open: 0 });
    const before = await attempts();
    expect(house.logged("circuit opened: the fleet slows down")).toHaveLength(1);

    ({ records } = await house.deliverAgain(records));
    expect(house.engine.summary()).toMatchObject({ claimsGranted: FAILURES_TO_TRIP });
    expect(house.logged("message deferred").slice(-FAILURES_TO_TRIP)).toMatchObject(
      records.map(() => ({ reason: "circuit-open" })),
    );

    await house.clock.sleep(16_000);
    ({ records } = await house.deliverAgain(records));
    expect(house.engine.summary()).toMatchObject({ claimsGranted: FAILURES_TO_TRIP + 1, open: 0 });
    expect(await attempts()).toBe(before);

    isBroken = false;
    await house.clock.sleep(31_000);
    const { records: probed, back } = await house.deliverAgain(records);
    expect(back).toHaveLength(FAILURES_TO_TRIP - 1);
    expect(house.logged("circuit closed")).toHaveLength(1);
    const waiting = probed.filter(({ messageId }) => back.includes(messageId));
    expect((await house.deliverAgain(waiting)).back).toEqual([]);
    expect(house.engine.summary()).toMatchObject({ counted: FAILURES_TO_TRIP, open: 0 });
  });
});
