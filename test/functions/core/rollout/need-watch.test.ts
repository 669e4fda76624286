import { describe, expect, test } from "vitest";
import type { PoolInformation } from "../../../../functions/core/protocol.ts";
import { NeedWatch } from "../../../../functions/core/rollout/need-watch.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { aPool, running } from "../items.ts";

/** Two groups of four make a batch; the test says what runs and what has ended. */
function batch(spare: number) {
  const clock = new FakeClock(1_000_000, "manual");
  const shown = { done: {} as Record<string, number>, runs: {} as Record<string, number>, step: 1 };
  const looks: number[] = [];
  const pool = async (): Promise<PoolInformation> => {
    looks.push(clock.now());
    const episodes = Object.entries(shown.runs).flatMap(([task, count]) =>
      Array.from({ length: count }, (_, n) => [
        `${task}-${n}`,
        { ...running(`main/${task}.${n}`), optional_task_id: task },
      ]),
    );
    return aPool({
      sample_collection_method: "rollout_until_finish_enough_tasks",
      completed_task_target: 2,
      task_expected_num_repeat: 4,
      global_step: shown.step,
      completed_tasks_client_uuids: Object.fromEntries(
        Object.entries(shown.done).map(([task, count]) => [task, Array<string>(count).fill("main/x.1")]),
      ),
      running_episode_details: Object.fromEntries(episodes),
    });
  };
  const watch = new NeedWatch({ clock, engine: { pool } }, spare);
  const status = { engine_status: "ENGINE.ROLLING", engine_status_detail: null, global_step: 1 };
  const ask = (task: string) => watch.mayStart(task, status);
  const started = async (tasks: string[]) => {
    const answers: boolean[] = [];
    for (const task of tasks) answers.push(await ask(task));
    return answers.filter(Boolean).length;
  };
  return { clock, shown, looks, ask, started };
}
const many = (task: string, count: number) => Array<string>(count).fill(task);

describe("without spare", () => {
  test("as many start as the batch needs, from one look at the pool", async () => {
    const b = batch(0);
    expect(await b.started([...many("a", 4), ...many("b", 4), ...many("c", 4)])).toBe(8);
    expect(b.looks).toHaveLength(1);
  });

  test("what a begun group lacks is its siblings' to give, for three seconds", async () => {
    const b = batch(0);
    b.shown.runs = { a: 4, b: 3 };
    expect([await b.ask("c"), await b.ask("b"), await b.ask("b")]).toEqual([false, true, false]);
    await b.clock.advance(3000);
    expect([await b.ask("c"), await b.ask("c")]).toEqual([true, false]);
  });

  test("nothing starts while all groups are covered, and a new one when a covered one is given up", async () => {
    const b = batch(0);
    b.shown.runs = { a: 4, b: 4 };
    expect(await b.ask("c")).toBe(false);
    b.shown.runs = { a: 4 };
    await b.clock.advance(1000);
    expect(await b.started(many("c", 5))).toBe(4);
  });

  test("a full count that the engine does not share is doubted after 15 s", async () => {
    const b = batch(0);
    b.shown.done = { a: 4, b: 4 };
    expect(await b.ask("c")).toBe(false);
    await b.clock.advance(14_999);
    expect(await b.ask("c")).toBe(false);
    await b.clock.advance(1);
    expect(await b.ask("c")).toBe(true);
  });
});

test("with spare as many start beyond the need as it says, whatever runs for other groups counted", async () => {
  const b = batch(3);
  b.shown.runs = { a: 4, b: 4, c: 1 };
  expect(await b.started(many("d", 5))).toBe(2);
});

test("a look at another batch tells nothing of this one", async () => {
  const b = batch(0);
  b.shown.step = 0;
  b.shown.done = { a: 4, b: 4 };
  expect(await b.ask("c")).toBe(true);
});

test("a large pool is read less often", async () => {
  const b = batch(0);
  b.shown.runs = Object.fromEntries(Array.from({ length: 125 }, (_, n) => [`t-${n}`, 4]));
  await b.ask("c");
  await b.clock.advance(4999);
  await b.ask("c");
  expect(b.looks).toHaveLength(1);
  await b.clock.advance(1);
  await b.ask("c");
  expect(b.looks).toHaveLength(2);
});
