import { describe, expect, it, test } from "vitest";
import { Armed } from "../../../local/chaos/armed.ts";
import { guiltyCounts } from "../../../local/chaos/guilty.ts";
import { allKinds, faultKinds, killPoints, kindsNamed, Tally } from "../../../local/chaos/kinds.ts";
import { busyMs, makePlan } from "../../../local/chaos/plan.ts";
import { proxyAnswers } from "../../../local/chaos/proxy-answers.ts";
import { makePushes } from "../../../local/chaos/pushes.ts";

const options = { seed: 7, rollouts: 60, minutes: 5, kinds: allKinds };

describe("a plan", () => {
  it("is the same for the same seed, and another for another", () => {
    expect(makePlan(options)).toEqual(makePlan(options));
    expect(makePlan({ ...options, seed: 8 })).not.toEqual(makePlan(options));
  });

  it("kills at every point between two steps", () => {
    expect(new Set(makePlan(options).kills.map(({ what }) => what))).toEqual(new Set(killPoints));
  });

  it("holds the kinds that were asked for, and the rest keeps its place", () => {
    const { kills, timed, engine, table, queue } = makePlan({ ...options, kinds: kindsNamed("engine") });
    const kinds = [...timed, ...engine.map(({ what }) => what)].map(({ kind }) => kind);
    expect([kills, table, queue]).toEqual([[], [], []]);
    // The token is asked for all the time.
    const planned = kindsNamed("engine").filter((kind) => kind !== "engine-token");
    expect(new Set(kinds)).toEqual(new Set(planned));
    const all = makePlan(options).timed.filter(({ kind }) => kind.startsWith("engine-"));
    expect(timed).toEqual(all);
  });

  it("has a proxy answer on every route of the engine within a few seeds, in every way", () => {
    const seeds = Array.from({ length: 10 }, (_, seed) => makePlan({ ...options, seed }).engine);
    const strikes = seeds.flat().filter(({ what }) => what.kind.startsWith("engine-proxy-"));
    const pairs = new Set(strikes.map(({ what }) => `${what.kind} ${what.call}`));
    expect(pairs.size).toBe(Object.keys(proxyAnswers).length * 7);
  });

  it("takes the table away for three heartbeats, or for a minute or two where time is real", () => {
    const away = (realTime: boolean) =>
      makePlan({ ...options, realTime }).timed.filter(({ kind }) => kind === "table-away");
    const spans = [away(false), away(true)].map(([fault]) => Math.floor((fault?.seconds ?? 0) / 4));
    // In heartbeats' time, and in minutes.
    expect(spans[0]).toBeOneOf([2, 3]);
    expect(spans[1]).toBeGreaterThanOrEqual(15);
    expect(makePlan({ ...options, kinds: ["table-first-heartbeat"] }).firstHeartbeats).toBe(true);
    expect(makePlan({ ...options, kinds: ["table-away"] }).firstHeartbeats).toBe(false);
  });

  it("strikes while the rollouts run, within its minutes", () => {
    const { timed } = makePlan({ ...options, minutes: 0.25 });
    expect(busyMs(60, 0.25)).toBe(15_000);
    expect(timed.filter(({ at }) => at < 3000 || at > 15_000)).toEqual([]);
    expect(timed.length).toBeGreaterThan(0);
  });
});

describe("pushes", () => {
  const pushing = { seed: 7, run: "r", rollouts: 30, repeats: 4, kinds: allKinds };
  it("are the same for the same seed", () => {
    expect(makePushes(pushing, new Tally())).toEqual(makePushes(pushing, new Tally()));
  });

  it("hold every rollout once, and more only as the faults say", () => {
    const tally = new Tally();
    const { keys, messages, invalid } = makePushes(pushing, tally);
    expect([keys.length, new Set(keys).size]).toEqual([30, 30]);
    // And one without a run, which is no pushed rollout.
    expect(messages).toHaveLength(30 + tally.of("queue-pushed-twice") + invalid.length + 1);
    expect(messages.filter(({ delaySeconds }) => delaySeconds > 0)).toHaveLength(tally.of("queue-late"));
  });

  it("have one agent of each kind that is too rare to be drawn, at every attempt", () => {
    const { guilty, messages } = makePushes(pushing, new Tally());
    expect([...guilty.values()].toSorted()).toEqual(["bloat", "exit", "reject", "spin"]);
    const told = messages.flatMap(({ body }) => {
      const { rollout, always } = JSON.parse(body.startsWith('{"task":{') ? body : "{}").task?.metadata ?? {};
      return guilty.has(rollout) ? [guilty.get(rollout) === always] : [];
    });
    expect(new Set(told)).toEqual(new Set([true]));
    expect(makePushes({ ...pushing, kinds: kindsNamed("engine") }, new Tally()).guilty.size).toBe(0);
  });

  it("have as many guilty ones as asked for, others with another seed", () => {
    const asked = { ...pushing, kinds: [], guilty: guiltyCounts("exit=5,spin=2") };
    const { guilty } = makePushes(asked, new Tally());
    expect(Object.groupBy(guilty.values(), (ailment) => ailment)).toMatchObject({
      exit: { length: 5 },
      spin: { length: 2 },
    });
    expect([...makePushes({ ...asked, seed: 8 }, new Tally()).guilty.keys()]).not.toEqual([...guilty.keys()]);
    expect(() => guiltyCounts("exit=0")).toThrow(/expected parts like exit=40/);
    expect(() => makePushes({ ...asked, guilty: { exit: 31 } }, new Tally())).toThrow(/at most 30/);
  });

  it("are plain and in order without faults", () => {
    const { keys, messages } = makePushes({ ...pushing, kinds: [] }, new Tally());
    const rollouts = messages.map(({ body }) => JSON.parse(body).task.metadata.rollout);
    expect(rollouts).toEqual(keys);
    expect(messages.every(({ delaySeconds }) => delaySeconds === 0)).toBe(true);
  });
});

describe("kinds of faults", () => {
  test.each([
    ["all", allKinds],
    ["none", []],
    ["engine-hang", ["engine-hang"]],
    ["agent-throw, table-500", ["agent-throw", "table-500"]],
    ["kill", allKinds.filter((kind) => kind.startsWith("kill-"))],
  ])("%s", (list, kinds) => {
    expect(kindsNamed(list)).toEqual(kinds);
  });

  it("says which name is unknown", () => {
    expect(() => kindsNamed("engine,egnine")).toThrow("unknown kind of fault: egnine. Expected all, none");
  });

  it("have a meaning each", () => {
    expect(Object.values(faultKinds).filter((meaning) => meaning.length < 10)).toEqual([]);
  });
});

describe("an armed fault", () => {
  const armed = () =>
    new Armed(
      [
        { what: "a", nth: 2 },
        { what: "a", nth: 2 },
        { what: "b", nth: 1 },
      ],
      (what) => what,
    );
  it("strikes the n-th time, once", () => {
    const faults = armed();
    expect(["a", "a", "a", "a", "c"].map((name) => faults.happens(name))).toEqual([
      undefined,
      "a",
      "a",
      undefined,
      undefined,
    ]);
    expect(faults.left).toBe(1);
  });

  it("waits for the next time where it cannot strike", () => {
    const faults = armed();
    expect(faults.happens("b", () => false)).toBeUndefined();
    expect(faults.happens("b")).toBe("b");
  });
});
