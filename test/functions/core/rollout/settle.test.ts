import { describe, expect, test } from "vitest";
import { EngineError } from "../../../../functions/core/errors.ts";
import { isOpen } from "../../../../functions/core/rollout/item.ts";
import {
  settleLeftover,
  settleWithoutResult,
  settleWithResult,
} from "../../../../functions/core/rollout/settle.ts";
import { anOpenItem, NOW } from "../items.ts";
import { type Script, us } from "../scripted-engine.ts";
import { limits, result, settleFixture, stored } from "../settle-fixture.ts";

const stage = settleFixture();
const options = { until: NOW + 120_000, resumed: false };
const withResult = { state: "reporting" as const };

describe("an attempt without a result", () => {
  test("gives its episode back where the engine shows it as ours", async () => {
    const s = await stage({ pool: ["ours"], aborts: ["ok"] });
    const settled = await settleWithoutResult(s.ports, limits, s.item, "agent-error", "boom");
    expect(settled.settled).toBe(true);
    expect(s.aborts()).toMatchObject([
      { client_uuid: us, episode_uuid: "episode-1", declare_client_active: false },
    ]);
    const item = await s.stands();
    expect(item).toMatchObject({
      state: "waiting",
      attempts: 1,
      history: [{ reason: "agent-error", detail: "boom" }],
    });
    expect([isOpen(item), s.noted]).toEqual([false, ["agent-error"]]);
  });

  test.each(["other", "nowhere", "ended", "batch-over"] as const)(
    "aborts nothing where the engine shows the episode as %s",
    async (shown) => {
      const s = await stage({ pool: [shown], aborts: ["ok"] });
      const settled = await settleWithoutResult(s.ports, limits, s.item, "deadline");
      expect([settled.settled, s.aborts()]).toEqual([true, []]);
      expect((await s.stands()).history).toMatchObject([{ reason: "deadline" }]);
    },
  );

  test("is not to blame for an error in an engine that has gone on", async () => {
    const s = await stage({ pool: ["batch-over"] });
    await settleWithoutResult(s.ports, limits, s.item, "agent-error");
    expect(await s.stands()).toMatchObject({ attempts: 0, history: [{ reason: "engine-left-rolling" }] });
  });

  test.each<[string, Script]>([
    ["the pool cannot be read", { pool: ["unreadable"] }],
    ["the abort is not answered", { pool: ["ours"], aborts: ["cut"] }],
  ])("stays open, with its reason, while %s", async (_why, script) => {
    const s = await stage(script);
    const settled = await settleWithoutResult(s.ports, limits, s.item, "deadline", "too slow");
    expect(settled.settled).toBe(false);
    const item = await s.stands();
    expect(item.attempt?.failure).toMatchObject({ reason: "deadline", detail: "too slow" });
    expect([isOpen(item), item.attempts, s.noted]).toEqual([true, 0, []]);
  });

  test("uses up the last attempt of its rollout, whose letter is then owed", async () => {
    const s = await stage({ pool: ["nowhere"] }, {}, { item: { attempts: 2 } });
    await settleWithoutResult(s.ports, limits, s.item, "agent-error");
    expect(await s.stands()).toMatchObject({ state: "dead", attempts: 3, letter: "owed" });
  });

  test("costs nothing while the circuit is open", async () => {
    const s = await stage({ pool: ["nowhere"] }, {}, { tripped: true, item: { attempts: 2 } });
    await settleWithoutResult(s.ports, limits, s.item, "agent-error");
    expect(await s.stands()).toMatchObject({ state: "waiting", attempts: 2 });
  });
});

describe("an attempt with a result", () => {
  test("that the engine takes ends its rollout, with the reward", async () => {
    const s = await stage({ ends: ["ok"] }, stored, { item: withResult });
    expect((await settleWithResult(s.ports, limits, s.item, options)).settled).toBe(true);
    expect(await s.stands()).toMatchObject({ state: "ended", history: [{ reason: "ended", reward: 1 }] });
    expect(s.noted).toEqual(["ended"]);
  });

  test("that the engine refuses, and still shows as ours, gives its episode back", async () => {
    const s = await stage(
      { ends: [[422, [{ loc: ["body"], msg: "no" }]]], pool: ["ours"], aborts: ["ok"] },
      stored,
      {
        item: withResult,
      },
    );
    await settleWithResult(s.ports, limits, s.item, options);
    expect(s.aborts()).toHaveLength(1);
    expect(await s.stands()).toMatchObject({
      state: "waiting",
      attempts: 1,
      history: [{ reason: "invalid-output" }],
    });
  });

  test("whose fate is open stays open, and remembers since when its episode is gone", async () => {
    const s = await stage({ ends: ["cut"], pool: ["nowhere"] }, stored, { item: withResult });
    const settled = await settleWithResult(s.ports, limits, s.item, { ...options, until: NOW + 14_000 });
    expect(settled.settled).toBe(false);
    expect((await s.stands()).attempt).toMatchObject({ gone_since: NOW + 5000, result });
  });

  test("whose end the engine is still at keeps the moment of it, so that the next one who looks sends no other", async () => {
    const s = await stage({ pool: ["ours"] }, stored, { item: withResult });
    const end = async () => {
      await s.clock.sleep(14_000);
      throw new EngineError({ failure: "unclear", call: "end_episode", detail: "no answer" });
    };
    const ports = { ...s.ports, engine: { ...s.engine, end } };
    await settleWithResult(ports, limits, s.item, { ...options, until: NOW + 14_000 });
    expect((await s.stands()).attempt).toMatchObject({ end_sent_at: NOW, result });
    for (let sweep = 0; sweep < 10; sweep += 1) {
      await s.clock.sleep(20_000);
      const item = await s.stands();
      if (!isOpen(item)) throw new Error("expected the rollout open");
      await settleLeftover(s.ports, limits, item, { reason: "crashed", until: s.clock.now() + 12_000 });
    }
    expect(s.ends()).toEqual([]);
  });

  test("past its expiry is given back instead of ended", async () => {
    const s = await stage(
      { pool: ["ours"], aborts: ["ok"] },
      { ...stored, expires_at: NOW - 1 },
      { item: withResult },
    );
    await settleWithResult(s.ports, limits, s.item, options);
    expect([s.ends(), s.aborts().length]).toEqual([[], 1]);
    expect((await s.stands()).history).toMatchObject([{ reason: "expired" }]);
  });

  test("past its expiry still counts where the pool shows its end", async () => {
    const s = await stage({ pool: ["ended"] }, { ...stored, expires_at: NOW - 1 }, { item: withResult });
    await settleWithResult(s.ports, limits, s.item, options);
    expect(await s.stands()).toMatchObject({ state: "ended", history: [{ reward: 1 }] });
  });

  test("past its expiry stays open while the pool cannot be read", async () => {
    const s = await stage({ pool: ["unreadable"] }, { ...stored, expires_at: NOW - 1 }, { item: withResult });
    expect((await settleWithResult(s.ports, limits, s.item, options)).settled).toBe(false);
    expect(await s.stands()).toEqual(s.item);
  });
});

describe("what a dead attempt left open", () => {
  const leftover = { reason: "crashed" as const, until: NOW + 60_000 };

  test("without a result makes a suspect at first, without a penalty: its next attempt runs alone", async () => {
    const s = await stage({ pool: ["nowhere"] });
    await settleLeftover(s.ports, limits, s.item, leftover);
    const stands = await s.stands();
    expect(stands).toMatchObject({ attempts: 0, suspected: 1, history: [{ reason: "suspected" }] });
  });

  test("without a result is closed as crashed where that has happened twice before", async () => {
    const s = await stage({ pool: ["nowhere"] });
    const moved = await s.ports.rollouts.move(s.item, { ...s.item, suspected: 2 });
    if (!moved.moved || !isOpen(moved.item))
      throw new Error("expected the item to be written, found another");
    const twice = moved.item;
    await settleLeftover(s.ports, limits, twice, leftover);
    expect(await s.stands()).toMatchObject({ attempts: 1, history: [{ reason: "crashed" }] });
  });

  test("with a failure is closed under that", async () => {
    const failure = { reason: "straggler" as const, detail: "late" };
    const s = await stage({ pool: ["ours"], aborts: ["ok"] }, { failure });
    await settleLeftover(s.ports, limits, s.item, leftover);
    expect(await s.stands()).toMatchObject({ attempts: 0, history: [failure] });
  });

  test("with a result is looked up before it is reported", async () => {
    const s = await stage({ pool: ["ended"], ends: ["ok"] }, stored, { item: withResult });
    await settleLeftover(s.ports, limits, s.item, leftover);
    expect([s.ends(), (await s.stands()).state]).toEqual([[], "ended"]);
  });
});

describe("two who settle the same attempt", () => {
  test("close it once: who comes second leaves it to the first, aborts nothing and counts nothing", async () => {
    const s = await stage({ pool: ["ours"], aborts: ["ok"] });
    const both = [1, 2].map(() => settleWithoutResult(s.ports, limits, s.item, "deadline"));
    expect((await Promise.all(both)).filter(({ settled }) => settled)).toHaveLength(1);
    expect(s.aborts()).toHaveLength(1);
    expect(await s.stands()).toMatchObject({ attempts: 1, history: [{ reason: "deadline" }] });
    expect(s.noted).toEqual(["deadline"]);
  });

  test("a note by somebody else meanwhile does not lose the end", async () => {
    const s = await stage({ ends: ["ok"] }, stored, { item: withResult });
    await s.rollouts.move(s.item, {
      ...s.item,
      attempt: { ...s.item.attempt, gone_since: NOW },
      stamp: "noted",
    });
    await settleWithResult(s.ports, limits, s.item, options);
    expect(await s.stands()).toMatchObject({ state: "ended", history: [{ reason: "ended", reward: 1 }] });
  });

  test("an end that was taken is not lost to somebody who stored a failure meanwhile", async () => {
    const s = await stage({ ends: ["ok"] }, stored, { item: withResult });
    const failure = { reason: "crashed" as const };
    await s.rollouts.move(s.item, { ...s.item, attempt: { ...s.item.attempt, failure }, stamp: "noted" });
    await settleWithResult(s.ports, limits, s.item, options);
    expect(await s.stands()).toMatchObject({ state: "ended" });
  });

  test("an attempt that is over cannot close the next one of its rollout", async () => {
    const s = await stage({ pool: ["nowhere"] });
    const other = anOpenItem(
      { key: s.item.key, stamp: "next" },
      { id: "invocation-2.1", episode: "episode-2" },
    );
    await s.rollouts.move(s.item, other);
    expect((await settleWithoutResult(s.ports, limits, s.item, "deadline")).settled).toBe(true);
    expect(await s.stands()).toEqual(other);
    expect(s.noted).toEqual([]);
  });
});
