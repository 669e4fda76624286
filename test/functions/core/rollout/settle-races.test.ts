/** Several processes at one attempt: the one that was given up as dead may still live, and settlers may die on the way. */
import { describe, expect, test } from "vitest";
import { isOpen, type OpenRolloutItem, type RolloutItem } from "../../../../functions/core/rollout/item.ts";
import {
  settleLeftover,
  settleWithoutResult,
  settleWithResult,
} from "../../../../functions/core/rollout/settle.ts";
import { withResult } from "../../../../functions/core/rollout/transitions.ts";
import { writeTransition } from "../../../../functions/core/rollout/write-transition.ts";
import { NOW } from "../items.ts";
import { limits, result, settleFixture, stored } from "../settle-fixture.ts";

const stage = settleFixture();
const reporting = { item: { state: "reporting" } } as const;
const crashed = { reason: "crashed", until: NOW + 120_000 } as const;
const notFound = [400, "Episode episode-1 not found."] as const;

function open(item: RolloutItem): OpenRolloutItem {
  if (!isOpen(item)) throw new Error(`expected an open rollout, found one that is ${item.state}`);
  return item;
}

describe("an attempt that was given up as dead", () => {
  test("is fenced before its episode is aborted", async () => {
    const s = await stage({ pool: ["ours"], aborts: ["ok"] });
    const seen: unknown[] = [];
    const engine = {
      ...s.engine,
      abort: async (...args: Parameters<typeof s.engine.abort>) => {
        seen.push((await s.stands()).attempt?.failure);
        await s.engine.abort(...args);
      },
    };
    await settleLeftover({ ...s.ports, engine }, limits, s.item, crashed);
    expect(seen).toEqual([{ reason: "suspected", settling_at: NOW }]);
    expect(s.aborts()).toHaveLength(1);
  });

  test("can neither store its result nor abort afterwards", async () => {
    const s = await stage({ pool: ["unreadable"], aborts: ["ok"] });
    await settleLeftover(s.ports, limits, s.item, crashed);
    const fenced = await s.stands();
    const late = withResult(s.item, result, { calls: 1 }, NOW);
    expect(await writeTransition(s.ports, s.item, late)).toEqual({ moved: false, found: fenced });
    const looks = s.looks();
    expect((await settleWithoutResult(s.ports, limits, s.item, "agent-error")).settled).toBe(false);
    expect([s.aborts(), s.looks(), await s.stands()]).toEqual([[], looks, fenced]);
  });

  test("leaves the verdict to whoever has taken over its report, whose end the engine may have taken", async () => {
    const s = await stage({ ends: [notFound], pool: ["ended"] }, stored, reporting);
    const taken = { ...s.item, stamp: "taken over" };
    await s.rollouts.move(s.item, taken);
    const options = { until: NOW + 60_000, resumed: false };
    expect((await settleWithResult(s.ports, limits, s.item, options)).settled).toBe(false);
    expect([await s.stands(), s.noted]).toEqual([taken, []]);
    await settleLeftover(s.ports, limits, taken, crashed);
    expect(await s.stands()).toMatchObject({ state: "ended", history: [{ reason: "ended", reward: 1 }] });
  });

  test("has its report taken over before anything is sent in its name", async () => {
    const s = await stage({ pool: ["unreadable"] }, stored, reporting);
    await settleLeftover(s.ports, limits, s.item, { ...crashed, until: NOW + 1000 });
    const { stamp, ...rest } = await s.stands();
    expect(stamp).not.toBe(s.item.stamp);
    expect({ ...rest, stamp: s.item.stamp }).toEqual(s.item);
  });
});

describe("two who settle a leftover at once", () => {
  test("abort at most once", async () => {
    const s = await stage({ pool: ["ours"], aborts: ["ok"] });
    const both = await Promise.all([1, 2].map(() => settleLeftover(s.ports, limits, s.item, crashed)));
    expect(both.filter(({ settled }) => settled)).toHaveLength(1);
    expect([s.aborts().length, s.noted]).toEqual([1, ["suspected"]]);
  });

  test("whoever comes later waits for 20 s after the other began, who may have died", async () => {
    const failure = { reason: "deadline" as const, settling_at: NOW };
    const s = await stage({ pool: ["ours"], aborts: ["ok"] }, { failure });
    await s.clock.sleep(19_999);
    expect((await settleLeftover(s.ports, limits, s.item, crashed)).settled).toBe(false);
    expect([s.aborts(), s.looks(), await s.stands()]).toEqual([[], 0, s.item]);
    await s.clock.sleep(1);
    expect((await settleLeftover(s.ports, limits, s.item, crashed)).settled).toBe(true);
    expect(s.aborts()).toHaveLength(1);
    expect((await s.stands()).history).toMatchObject([{ reason: "deadline" }]);
  });

  test("of two who go on with a report only one does", async () => {
    const s = await stage({ pool: ["ours"], ends: ["ok"] }, stored, reporting);
    const both = await Promise.all([1, 2].map(() => settleLeftover(s.ports, limits, s.item, crashed)));
    expect(both.filter(({ settled }) => settled)).toHaveLength(1);
    expect([s.ends().length, s.noted, (await s.stands()).state]).toEqual([1, ["ended"], "ended"]);
  });
});

describe("a stored result whose end may be under way at the engine", () => {
  test("is not aborted after its expiry: the engine takes one end at most, so it is ended", async () => {
    const s = await stage(
      { pool: ["ours"], ends: ["ok"], aborts: ["ok"] },
      { result, result_at: NOW - 60_000, expires_at: NOW - 1000 },
      reporting,
    );
    await settleLeftover(s.ports, limits, s.item, crashed);
    expect([s.aborts(), s.ends().length, (await s.stands()).state]).toEqual([[], 1, "ended"]);
  });

  test("that was too late when it was stored was never sent, and is given back", async () => {
    const s = await stage(
      { pool: ["ours"], ends: ["ok"], aborts: ["ok"] },
      { result, result_at: NOW - 500, expires_at: NOW - 1000 },
      reporting,
    );
    await settleLeftover(s.ports, limits, s.item, crashed);
    expect([s.aborts().length, s.ends()]).toEqual([1, []]);
    expect((await s.stands()).history).toMatchObject([{ reason: "expired" }]);
  });

  test("counts once the pool shows its end, although a failure was noted meanwhile", async () => {
    const failure = { reason: "expired" as const };
    const s = await stage({ pool: ["ended"] }, { ...stored, failure }, reporting);
    await settleLeftover(s.ports, limits, s.item, crashed);
    expect(await s.stands()).toMatchObject({ state: "ended", history: [{ reason: "ended", reward: 1 }] });
  });
});

describe("a settler that dies", () => {
  test("between fence and abort leaves an attempt that the next one settles, under the same reason", async () => {
    const s = await stage({ pool: ["unreadable", "ours"], aborts: ["ok"] });
    await settleWithoutResult(s.ports, limits, s.item, "agent-error", "boom");
    await settleLeftover(s.ports, limits, open(await s.stands()), crashed);
    expect(s.aborts()).toHaveLength(1);
    expect((await s.stands()).history).toMatchObject([{ reason: "agent-error", detail: "boom" }]);
  });
});
