import { describe, expect, test } from "vitest";
import {
  createLifecycleStore,
  readLatestSnapshot,
  readSnapshots,
} from "../../../../functions/adapters/table/lifecycle.ts";
import { createRolloutStore } from "../../../../functions/adapters/table/rollouts.ts";
import { type Snapshot, snapshotSchema } from "../../../../functions/core/housekeeping/snapshot.ts";
import type { ChangedRollout, FleetTotals } from "../../../../functions/core/housekeeping/totals.ts";
import { noTotals } from "../../../../functions/core/housekeeping/totals.ts";
import type { RolloutItem } from "../../../../functions/core/rollout/item.ts";
import { anItem, anOpenItem, aPool } from "../../core/items.ts";
import { freshKey } from "./contract-rollouts.ts";
import type { TableUnderTest } from "./servers.ts";

export function lifecycleContract(running: () => TableUnderTest): void {
  const rollouts = () => createRolloutStore({ ...running(), ttlDays: 30 });
  const store = () => createLifecycleStore({ ...running(), snapshotTtlDays: 30 });
  const write = async (item: RolloutItem, previous?: RolloutItem) => {
    expect(await rollouts().move(previous, item)).toEqual({ moved: true, item });
    return item;
  };

  describe("the index of open rollouts", () => {
    test("shows a rollout from its claim to its end, with fleet, key and invocation", async () => {
      const engine = "open-1";
      const previous = await write(anItem({ key: freshKey(), engine }));
      expect(await store().openRollouts(engine)).toEqual([]);
      const open = await write(anOpenItem({ key: previous.key, engine, stamp: "2" }), previous);
      const shown = [{ fleet: "main", key: previous.key, invocation: "invocation-1" }];
      expect(await store().openRollouts(engine)).toEqual(shown);
      expect(await store().openRollouts("open-2")).toEqual([]);
      const reporting = await write({ ...open, state: "reporting", stamp: "3" }, open);
      expect(await store().openRollouts(engine)).toEqual(shown);
      const { attempt: _, ...rest } = reporting;
      await write({ ...rest, state: "waiting", stamp: "4" }, reporting);
      expect(await store().openRollouts(engine)).toEqual([]);
    });

    test("shows the earliest expiry first", async () => {
      const expiries = [3000, 1000, 2000];
      for (const expires_at of expiries)
        await write(anOpenItem({ key: `${freshKey()}/${expires_at}`, engine: "open-3" }, { expires_at }));
      const keys = (await store().openRollouts("open-3")).map(({ key }) => key.split("/").at(-1));
      expect(keys).toEqual(["1000", "2000", "3000"]);
    });

    test("shows an ended train rollout apart, until it is confirmed; one that never was is counted", async () => {
      const engine = "open-4";
      const ended = await write(anItem({ key: freshKey(), engine, state: "ended", changed_at: 2 }));
      const older = await write(anItem({ key: freshKey(), engine, state: "ended", changed_at: 1 }));
      await write(anItem({ key: freshKey(), engine, state: "ended", episode_type: "eval" }));
      await write(anItem({ key: freshKey(), engine, state: "dead" }));
      const keys = async (limit = 10) => (await store().unconfirmed(engine, limit)).map(({ key }) => key);
      expect(await keys()).toEqual([older.key, ended.key]);
      expect(await keys(1)).toEqual([older.key]);
      expect(await store().openRollouts(engine)).toEqual([]);
      await write({ ...older, confirmed_at: 5, stamp: "2" }, older);
      expect([await keys(), await store().countMissing(engine)]).toEqual([[ended.key], 0]);
      await write({ ...ended, confirmed_at: null, stamp: "2" }, ended);
      expect([await keys(), await store().countMissing(engine)]).toEqual([[], 1]);
    });
  });

  describe("the index of changes", () => {
    const changed = async (fleet: string, since: number) => {
      const pages: ChangedRollout[][] = [];
      for await (const page of store().changedSince(fleet, since)) pages.push(page);
      return pages;
    };

    test("shows what changed at or after a moment, of one fleet, with all that the totals need", async () => {
      const past = {
        id: "a",
        episode: "e",
        reason: "ended" as const,
        at: 2,
        from: 1,
        step: 1,
        reward: 0.5,
        calls: 2,
      };
      const key = freshKey();
      await write(anItem({ fleet: "changes", key, state: "ended", changed_at: 20, history: [past] }));
      await write(anItem({ fleet: "changes", key: freshKey(), changed_at: 19 }));
      await write(anItem({ fleet: "changes-2", key: freshKey(), changed_at: 20 }));
      expect((await changed("changes", 20)).flat()).toMatchObject([
        { key, state: "ended", episode_type: "train", task_id: "task-1", history: [past] },
      ]);
      expect((await changed("changes", 21)).flat()).toEqual([]);
    });

    test("goes on page by page above 1 MB, each rollout once", async () => {
      const detail = "x".repeat(500);
      const history = Array.from({ length: 20 }, (_, n) => ({
        id: `a.${n}`,
        episode: "e",
        reason: "straggler" as const,
        at: n,
        from: 0,
        step: 1,
        detail,
      }));
      const keys = Array.from({ length: 120 }, () => freshKey());
      await Promise.all(keys.map((key) => write(anItem({ fleet: "pages", key, history }))));
      const pages = await changed("pages", 0);
      expect(pages.length).toBeGreaterThan(1);
      expect(
        pages
          .flat()
          .map(({ key }) => key)
          .sort(),
      ).toEqual(keys.toSorted());
    });
  });

  describe("a fleet's totals", () => {
    test("move on only from what was read: of two writers one is told no", async () => {
      const first: FleetTotals = { as_of: 10, version: 1, totals: noTotals() };
      expect(await store().readTotals("t-1")).toBeUndefined();
      expect(await store().writeTotals("t-1", undefined, first)).toBe(true);
      expect(await store().writeTotals("t-1", undefined, first)).toBe(false);
      const next = {
        as_of: 20,
        version: 2,
        totals: {
          ...noTotals(),
          attempts: { ended: 3, deadline: 1 },
          ended: 3,
          reward_squares: 1.2e76,
          episode_ms: 7,
        },
      };
      expect(await store().writeTotals("t-1", first, next)).toBe(true);
      expect(await store().writeTotals("t-1", first, { ...next, as_of: 30 })).toBe(false);
      expect(await store().readTotals("t-1")).toEqual(next);
    });
  });

  describe("snapshots", () => {
    const at = (second: number) => new Date(Date.UTC(2030, 0, 1, 0, 0, second)).toISOString();
    const snapshot = (engine: string, second: number, facts: Partial<Snapshot> = {}): Snapshot =>
      snapshotSchema.parse({
        v: 1,
        at: at(second),
        engine,
        status: { engine_status: "ENGINE.ROLLING", engine_status_detail: null, global_step: second },
        pool: aPool({
          completed_tasks_details: { "task-1": ["e-1"] },
          completed_tasks_rewards: { "task-1": [1, null] },
        }),
        fleets: {
          main: {
            queue: { visible: 1, in_flight: 2, delayed: 3 },
            dead_letters: 0,
            open: 4,
            totals: noTotals(),
            reward_mean: 0.5,
            reward_deviation: null,
          },
        },
        ...facts,
      });

    test("are not there before the first", async () => {
      expect(await readLatestSnapshot(running(), "s-0")).toBeUndefined();
      expect(await readSnapshots(running(), "s-0", at(0))).toEqual([]);
    });

    test("can be read again: the latest, and by time from a moment on, the oldest first", async () => {
      const taken = [snapshot("s-1", 1), snapshot("s-1", 2, { pool: null, fleets: {} }), snapshot("s-1", 3)];
      for (const one of taken) await store().writeSnapshot(one);
      await store().writeSnapshot(snapshot("s-2", 9));
      expect(await readLatestSnapshot(running(), "s-1")).toEqual(taken[2]);
      expect(await readSnapshots(running(), "s-1", at(2))).toEqual(taken.slice(1));
      expect(await readSnapshots(running(), "s-1", at(4))).toEqual([]);
    });
  });
}
