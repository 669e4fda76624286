import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { curvesOf, plotText } from "../../cli/plot.ts";
import { since } from "../../cli/since.ts";
import { createLifecycleStore } from "../../functions/adapters/table/lifecycle.ts";
import type { Totals } from "../../functions/core/housekeeping/totals.ts";
import { type Deployed, startDeployment } from "./deployment.ts";
import { sortie } from "./here.ts";
import { fleetOf, snapshotOf } from "./samples.ts";

const BEGAN = Date.parse("2026-05-04T10:00:00.000Z");
const at = (minute: number) => new Date(BEGAN + minute * 60_000).toISOString();
/** One a minute; `totals` are those of the fleet main at the time. */
const history = (...totals: Partial<Totals>[]) =>
  totals.map((some, minute) =>
    snapshotOf({
      at: at(minute),
      fleets: { main: fleetOf(some, { queue: { visible: 10 - minute, in_flight: 1, delayed: 0 } }) },
    }),
  );

const three = history(
  { ended: 10, rewards: 10, reward_sum: 1, attempts: { ended: 10 } },
  { ended: 14, rewards: 14, reward_sum: 3, attempts: { ended: 14, crashed: 1 } },
  { ended: 14, eval_ended: 3, rewards: 14, reward_sum: 3, attempts: { ended: 17, crashed: 1 } },
);

describe("the curves", () => {
  test("are of what came between two snapshots", () => {
    expect(curvesOf(three)).toEqual({
      main: [
        { at: BEGAN, reward: null, ended_per_minute: null, queue: 11 },
        { at: BEGAN + 60_000, reward: 0.5, ended_per_minute: 4, queue: 10 },
        { at: BEGAN + 120_000, reward: null, ended_per_minute: 3, queue: 9 },
      ],
    });
  });

  test("of fewer points than snapshots leave nothing out", () => {
    const long = history(
      ...Array.from({ length: 101 }, (_, minute) => ({
        ended: minute * 2,
        rewards: minute * 2,
        reward_sum: minute,
      })),
    );
    const { main = [] } = curvesOf(long, 11);
    expect(main).toHaveLength(11);
    expect(main[0]?.at).toBe(BEGAN);
    expect(main[10]).toEqual({ at: BEGAN + 6_000_000, reward: 0.5, ended_per_minute: 2, queue: -89 });
  });

  test("begin where a fleet begins, and have gaps where a queue could not be read", () => {
    const late = [
      snapshotOf({ at: at(0), fleets: {} }),
      snapshotOf({ at: at(1), fleets: { b: fleetOf({}, { queue: null }) } }),
    ];
    expect(curvesOf(late)).toEqual({
      b: [{ at: BEGAN + 60_000, reward: null, ended_per_minute: null, queue: null }],
    });
  });
});

describe("the charts", () => {
  const io = { style: (_: unknown, text: string) => text, columns: 60 };

  test("draw reward, throughput and queue of each fleet", () => {
    const rising = history(
      ...Array.from({ length: 8 }, (_, minute) => ({
        ended: minute * minute,
        rewards: minute * minute,
        reward_sum: minute ** 3 / 8,
      })),
    );
    expect(plotText(rising, io)).toMatchInlineSnapshot(`
      "Mean reward of train rollouts, fleet main
            ▲
        1.22┤                                              ┏━
        1.03┤                                      ┏━━━━━━━┛
       0.847┤                              ┏━━━━━━━┛
       0.661┤                       ┏━━━━━━┛
       0.475┤               ┏━━━━━━━┛
       0.292┤       ┏━━━━━━━┛
       0.125┤━━━━━━━┛
            │
            └┬───────────────────────┬──────────────────────┬▶
      10:01:00                10:04:00               10:07:00

      Rollouts ended per minute, fleet main
            ▲
          13┤                                              ┏━
          11┤                                      ┏━━━━━━━┛
           9┤                              ┏━━━━━━━┛
           7┤                       ┏━━━━━━┛
           5┤               ┏━━━━━━━┛
           3┤       ┏━━━━━━━┛
           1┤━━━━━━━┛
            │
            └┬───────────────────────┬──────────────────────┬▶
      10:01:00                10:04:00               10:07:00

      Messages in the queue, fleet main
            ▲
          11┤━━━━━━┓
          10┤      ┗━━━━━━━━━━━━┓
           8┤                   ┗━━━━━━┓
           7┤                          ┗━━━━━━━━━━━━┓
           5┤                                       ┗━━━━━━━━
            │
            │
            │
            └┬──────────────────────────┬───────────────────┬▶
      10:00:00                   10:04:00            10:07:00

      Times are UTC. Each point stands for what came since the one before.
      "
    `);
  });

  test("fit the terminal", () => {
    const long = history(...Array.from({ length: 300 }, (_, minute) => ({ ended: minute % 7 })));
    expect(
      Math.max(
        ...plotText(long, io)
          .split("\n")
          .map((line) => line.length),
      ),
    ).toBeLessThanOrEqual(72);
  });

  test("of a single snapshot say that there is nothing to draw yet", () => {
    expect(plotText(three.slice(0, 1), io)).toBe(
      "Nothing to draw yet: expected two snapshots at least, found 1. Look again in some minutes, or give a longer --since.\n",
    );
  });
});

test("the figures of a span are the difference of its ends", () => {
  const spend = {
    usd_today: 1,
    usd_total: 5,
    usd_per_ended: 0.1,
    budget_usd_per_day: null,
    budget_exceeded: false,
  };
  const first = snapshotOf({
    fleets: {
      main: fleetOf(
        { ended: 10, rewards: 10, reward_sum: 1, reward_squares: 1, attempts: { ended: 10, crashed: 2 } },
        { spend: { ...spend, usd_total: 3 } },
      ),
    },
  });
  const last = snapshotOf({
    fleets: {
      main: fleetOf(
        { ended: 14, rewards: 14, reward_sum: 3, reward_squares: 3, attempts: { ended: 14, crashed: 2 } },
        { spend },
      ),
      young: fleetOf({ ended: 2 }),
    },
  });
  const { fleets } = since(last, [first, last]);
  expect(fleets["main"]).toMatchObject({
    totals: { ended: 4, rewards: 4, reward_sum: 2, attempts: { ended: 4, crashed: 0 } },
    reward_mean: 0.5,
    reward_deviation: 0.5,
    spend: { usd_total: 2, usd_per_ended: 0.5 },
  });
  expect(fleets["young"]?.totals.ended).toBe(2);
  expect(since(last, []).fleets["main"]?.totals.ended).toBe(0);
});

describe("sortie stats over time", () => {
  let deployed: Deployed;
  const now = () => BEGAN + 150_000;
  beforeAll(async () => {
    deployed = await startDeployment();
    const store = createLifecycleStore({ ...deployed.table, snapshotTtlDays: 1 });
    for (const snapshot of three) await store.writeSnapshot(snapshot);
  });
  afterAll(async () => await deployed[Symbol.asyncDispose]());
  const stats = async (args: string[], given = {}) =>
    await sortie(["stats", ...args], { environment: deployed.environment, now, ...given });

  test("--since counts what came in that span alone", async () => {
    const { out } = await stats(["--since", "2m"]);
    expect(out).toContain("Fleets, in the last 2 min\n");
    expect(out).toMatch(/│ train: ended +│ +0 │/);
    expect(out).toMatch(/│ eval: ended +│ +3 │/);
    expect((await stats(["--since", "3m", "--json"])).json()).toMatchObject({
      fleets: { main: { totals: { ended: 4 } } },
    });
  });

  test("--plot draws, and as JSON gives the points", async () => {
    expect((await stats(["--plot"])).out).toContain("Rollouts ended per minute, fleet main\n");
    expect((await stats(["--plot", "--since", "100s", "--json"])).json()).toMatchObject({
      main: [
        { at: BEGAN + 60_000, queue: 10 },
        { at: BEGAN + 120_000, ended_per_minute: 3 },
      ],
    });
  });

  const watched = (frames: number) => {
    const stop = new AbortController();
    let shown = 0;
    const pause = async (ms: number) => {
      expect(ms).toBe(5000);
      shown += 1;
      if (shown === frames) stop.abort();
    };
    return { stop: stop.signal, pause };
  };

  test("--watch draws each frame over the one before, until Ctrl-C, which is its proper end", async () => {
    const ran = await stats(["--watch"], { ...watched(3), terminal: true });
    expect(ran).toMatchObject({ code: 0, err: "" });
    expect(ran.out.split("\u001b[H")).toHaveLength(4);
    expect(ran.out.split("\u001b[2J")).toHaveLength(2);
    expect(ran.out.split("\u001b[J")).toHaveLength(4);
  });

  test("--watch without a terminal writes frames one after another, as JSON one a line", async () => {
    const { out } = await stats(["--watch"], watched(2));
    expect(out.match(/^Engine main:/gm)).toHaveLength(2);
    expect(out).not.toContain("\u001b");
    const lines = (await stats(["--watch", "--json"], watched(2))).out.trimEnd().split("\n");
    expect(lines.map((line) => JSON.parse(line).engine)).toEqual(["main", "main"]);
  });

  test("--watch of an engine without a snapshot waits for it while the table is new", async () => {
    const { code, out, err } = await stats(["--watch", "--engine", "none"], watched(2));
    expect([code, out]).toEqual([0, ""]);
    expect(err).toMatch(/no snapshot yet: .*: wait/);
  });
});
