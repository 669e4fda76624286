import { expect, test, vi } from "vitest";
import { StoreRefusedError } from "../../../../functions/core/errors.ts";
import type { Moved, RolloutItem } from "../../../../functions/core/rollout/item.ts";
import { currentItem, writeTransition } from "../../../../functions/core/rollout/write-transition.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { anItem } from "../items.ts";

/** A table that fails so often before it answers; the real one is tested with its adapter. */
function tableThat(fails: number, error = new Error("throttled")) {
  const clock = new FakeClock(1000);
  const written: RolloutItem[] = [];
  const move = async (_left: RolloutItem | undefined, next: RolloutItem): Promise<Moved> => {
    written.push(next);
    if (written.length <= fails) throw error;
    return { moved: true, item: next };
  };
  const random = vi.fn(() => (random.mock.calls.length % 100) / 100);
  const ports = { clock, log: vi.fn(), random, rollouts: { read: async () => undefined, move } };
  return { ports, clock, written };
}

test("a write that the table refuses for a while is repeated, as the very same write", async () => {
  const { ports, clock, written } = tableThat(6);
  const moved = await writeTransition(ports, undefined, anItem());
  expect(moved.moved).toBe(true);
  expect(clock.sleeps).toEqual([500, 1000, 2000, 4000, 8000, 15_000]);
  expect(new Set(written.map(({ stamp }) => stamp)).size).toBe(1);
});

test("a table that stays away is the caller's trouble after half a minute", async () => {
  const { ports, clock } = tableThat(7);
  await expect(writeTransition(ports, undefined, anItem())).rejects.toThrow("throttled");
  expect(clock.now() - 1000).toBe(30_500);
});

test("two writes never have the same stamp", async () => {
  const { ports, written } = tableThat(0);
  await writeTransition(ports, undefined, anItem());
  await writeTransition(ports, undefined, anItem());
  expect(written[0]?.stamp).not.toBe(written[1]?.stamp);
});

test("what stands after a transition is what was written, or what was found, or what was left", () => {
  const [left, next, found] = [anItem(), anItem({ stamp: "2" }), anItem({ stamp: "3" })];
  expect(currentItem({ moved: true, item: next }, left)).toBe(next);
  expect(currentItem({ moved: false, found }, left)).toBe(found);
  expect(currentItem({ moved: false, found: undefined }, left)).toBe(left);
});

test("… unless there is more time: then it goes on until that is over", async () => {
  const { ports, clock } = tableThat(100);
  await expect(writeTransition(ports, undefined, anItem(), { until: 91_000 })).rejects.toThrow("throttled");
  expect(clock.now()).toBe(1000 + 30_500 + 3 * 15_000);
});

test("… and never past the time of a sweep, which the tick waits for", async () => {
  const { ports, clock, written } = tableThat(100);
  const sweeping = { ...ports, writesUntil: 1000 + 4000 };
  await expect(writeTransition(sweeping, undefined, anItem(), { until: 91_000 })).rejects.toThrow(
    "throttled",
  );
  expect([clock.now() - 1000, written.length]).toEqual([3500, 4]);
});

test("what can never be stored is written once", async () => {
  const { ports, clock, written } = tableThat(100, new StoreRefusedError("item", "too large"));
  await expect(writeTransition(ports, undefined, anItem(), { until: 900_000 })).rejects.toThrow("too large");
  expect(written).toHaveLength(1);
  expect(clock.sleeps).toEqual([]);
});

test("a permission that is missing is waited for half a minute, however much time there is", async () => {
  const { ports, clock } = tableThat(100, new StoreRefusedError("access", "denied"));
  await expect(writeTransition(ports, undefined, anItem(), { until: 900_000 })).rejects.toThrow("denied");
  expect(clock.now() - 1000).toBe(30_500);
});
