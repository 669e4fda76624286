import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { toAttributes } from "../../../../functions/adapters/table/client.ts";
import {
  addAttempts,
  type ChangedRollout,
  noTotals,
  rewardDeviation,
  rewardMean,
  type Totals,
  totalsSchema,
} from "../../../../functions/core/housekeeping/totals.ts";
import { type Reason, reasons } from "../../../../functions/core/reasons.ts";
import type { PastAttempt } from "../../../../functions/core/rollout/item.ts";
import { sizeOf } from "../../../support/dynamo-rules.ts";

const attempt = (facts: Partial<PastAttempt> = {}): PastAttempt => ({
  id: "a",
  episode: "e",
  reason: "ended",
  at: 50,
  from: 20,
  step: 1,
  ...facts,
});
const rollout = (facts: Partial<ChangedRollout> = {}): ChangedRollout => ({
  key: "message/m",
  state: "ended",
  episode_type: "train",
  task_id: "t",
  attempts: 0,
  history: [],
  ...facts,
});
const all = (changed: ChangedRollout) => addAttempts(noTotals(), changed, 0, Number.POSITIVE_INFINITY);

describe("the totals of a fleet", () => {
  test("begin at zero", () => {
    expect(noTotals()).toEqual({
      attempts: {},
      ended: 0,
      rewards: 0,
      reward_sum: 0,
      reward_squares: 0,
      ended_without_model_call: 0,
      eval_ended: 0,
      eval_rewards: 0,
      eval_reward_sum: 0,
      dead: 0,
      unknown: 0,
      lost: 0,
      incomplete: {},
      incomplete_unlisted: 0,
      episode_ms: 0,
    });
  });

  test("count an ended train rollout, its reward and its time", () => {
    expect(all(rollout({ history: [attempt({ reward: 0.5, calls: 3 })] }))).toEqual({
      ...noTotals(),
      attempts: { ended: 1 },
      ended: 1,
      rewards: 1,
      reward_sum: 0.5,
      reward_squares: 0.25,
      episode_ms: 30,
    });
  });

  test("count what has no number as reward, and what called no model, among the ended alone", () => {
    const history = [attempt({ reward: [1, 0], calls: 0 }), attempt({ reward: null }), attempt()];
    expect(all(rollout({ history }))).toMatchObject({
      ended: 3,
      rewards: 0,
      reward_sum: 0,
      ended_without_model_call: 1,
    });
  });

  test("keep eval rewards apart", () => {
    const counted = all(rollout({ episode_type: "eval", history: [attempt({ reward: 2 })] }));
    expect(counted).toMatchObject({
      ended: 0,
      reward_sum: 0,
      eval_ended: 1,
      eval_rewards: 1,
      eval_reward_sum: 2,
    });
  });

  test("count a death once, with the attempt that brought it", () => {
    const history = [attempt({ reason: "agent-error", at: 1 }), attempt({ reason: "deadline", at: 2 })];
    const dead = rollout({ state: "dead", attempts: 2, history });
    expect(all(dead)).toMatchObject({ attempts: { "agent-error": 1, deadline: 1 }, dead: 1, ended: 0 });
    expect(addAttempts(noTotals(), dead, 0, 2).dead).toBe(0);
  });

  test("count what cannot be known, without its reward", () => {
    const history = [attempt({ reason: "unknown", reward: 1 })];
    expect(all(rollout({ state: "unknown", history }))).toMatchObject({
      unknown: 1,
      ended: 0,
      reward_sum: 0,
    });
  });

  test("take what ended from the window's first moment on, and before its last", () => {
    const changed = rollout({ history: [attempt({ at: 10 }), attempt({ at: 20 })] });
    expect(addAttempts(noTotals(), changed, 10, 20).ended).toBe(1);
    expect(addAttempts(noTotals(), changed, 20, 21).ended).toBe(1);
    expect(addAttempts(noTotals(), changed, 11, 20).ended).toBe(0);
  });
});

describe("each attempt is counted exactly once", () => {
  const anyAttempt = fc.record({
    reason: fc.constantFrom(...(Object.keys(reasons) as Reason[])),
    at: fc.nat(100),
    reward: fc.option(fc.integer({ min: -4, max: 4 }), { nil: undefined }),
    calls: fc.nat(1),
  });
  const anyRollout = fc
    .record({
      state: fc.constantFrom("waiting" as const, "ended" as const, "dead" as const, "unknown" as const),
      episode_type: fc.constantFrom("train" as const, "eval" as const),
      attempts: fc.array(anyAttempt, { maxLength: 6 }),
    })
    .map(({ attempts, ...rest }) =>
      rollout({
        ...rest,
        // As many used up as failed: none was redriven, which shows in the moment's state, not in the history.
        attempts: attempts.length,
        history: attempts
          .toSorted((a, b) => a.at - b.at)
          .map(({ reward, ...facts }) => attempt({ ...facts, ...(reward === undefined ? {} : { reward }) })),
      }),
    );
  const sumOf = (rollouts: ChangedRollout[], cuts: number[]): Totals => {
    const edges = [0, ...cuts.toSorted((a, b) => a - b), 101];
    let totals = noTotals();
    for (const [n, from] of edges.slice(0, -1).entries())
      for (const changed of rollouts) totals = addAttempts(totals, changed, from, edges[n + 1] ?? from);
    return totals;
  };

  test("however the windows are cut", () => {
    fc.assert(
      fc.property(
        fc.array(anyRollout, { maxLength: 8 }),
        fc.array(fc.nat(101), { maxLength: 6 }),
        (rollouts, cuts) => {
          const whole = sumOf(rollouts, []);
          const attempts = rollouts.flatMap(({ history }) => history);
          expect(sumOf(rollouts, cuts)).toEqual(whole);
          expect(Object.values(whole.attempts).reduce((a, b) => a + b, 0)).toBe(attempts.length);
          expect(totalsSchema.parse(whole)).toEqual(whole);
        },
      ),
    );
  });
});

describe("mean and deviation", () => {
  test("are not there without a reward", () => {
    expect([rewardMean(noTotals()), rewardDeviation(noTotals())]).toEqual([null, null]);
  });

  test("are those of the population", () => {
    const history = [2, 4, 4, 4, 5, 5, 7, 9].map((reward) => attempt({ reward }));
    const totals = all(rollout({ history }));
    expect([rewardMean(totals), rewardDeviation(totals)]).toEqual([5, 2]);
  });

  test("survive rounding: equal rewards deviate by nothing worth showing", () => {
    const history = Array.from({ length: 20 }, () => attempt({ reward: 0.1 }));
    expect(rewardDeviation(all(rollout({ history })))).toBeCloseTo(0, 6);
  });
});

describe("dead rollouts, not deaths", () => {
  const failed = (at: number) => attempt({ reason: "agent-error", at });
  const died = rollout({ state: "dead", attempts: 1, history: [failed(50)] });
  const once = addAttempts(noTotals(), died, 0, 100);
  const redriven = (
    state: "dead" | "ended" | "unknown",
    last: ReturnType<typeof attempt>,
    attempts: number,
  ) => addAttempts(once, rollout({ state, attempts, history: [failed(50), last] }), 100, 200).dead;

  test.each([
    ["dies once more", redriven("dead", failed(150), 1), 1],
    ["ends", redriven("ended", attempt({ at: 150 }), 0), 0],
    ["comes to an unknown end", redriven("unknown", attempt({ reason: "unknown", at: 150 }), 0), 0],
  ])("one that is redriven and %s counts as %d", (_, dead, expected) => {
    expect(once.dead).toBe(1);
    expect(dead).toBe(expected);
  });

  test("an eval rollout too", () => {
    const dead = addAttempts(noTotals(), { ...died, episode_type: "eval" }, 0, 100);
    const history = [failed(50), attempt({ at: 150 })];
    const ended = rollout({ episode_type: "eval", attempts: 0, history });
    expect([dead.dead, addAttempts(dead, ended, 100, 200).dead]).toEqual([1, 0]);
  });
});

describe("incomplete groups", () => {
  const failed = attempt({ reason: "agent-error", at: 50 });
  const dead = (task: string) => rollout({ task_id: task, state: "dead", attempts: 1, history: [failed] });

  test("are the tasks of dead train rollouts, with how many of each", () => {
    const totals = ["a", "b", "a"].reduce((sum, task) => addAttempts(sum, dead(task), 0, 100), noTotals());
    expect(totals.incomplete).toEqual({ a: 2, b: 1 });
    expect(all({ ...dead("a"), episode_type: "eval" }).incomplete).toEqual({});
  });

  test("are whole again when the rollout was redriven and ended", () => {
    const ended = attempt({ at: 150 });
    const redriven = rollout({ task_id: "a", attempts: 0, history: [failed, ended] });
    const totals = addAttempts(addAttempts(noTotals(), dead("a"), 0, 100), redriven, 100, 200);
    expect(totals.incomplete).toEqual({});
  });

  test("lack one rollout, however often it dies", () => {
    const again = rollout({
      task_id: "a",
      state: "dead",
      attempts: 1,
      history: [failed, { ...failed, at: 150 }],
    });
    const totals = addAttempts(addAttempts(noTotals(), dead("a"), 0, 100), again, 100, 200);
    expect(totals.incomplete).toEqual({ a: 1 });
  });

  const sumOf = (tasks: string[]) =>
    tasks.map(dead).reduce((sum, one) => addAttempts(sum, one, 0, 100), noTotals());
  const deadIn = ({ incomplete, incomplete_unlisted }: Totals) =>
    Object.values(incomplete).reduce((sum, dead) => sum + dead, incomplete_unlisted);

  test.each(["constructor", "toString", "hasOwnProperty", "valueOf", "__proto__"])(
    "may be called %s",
    (task) => {
      const totals = sumOf([task, task]);
      expect(Object.values(totals.incomplete)).toEqual([2]);
      expect(totals.incomplete_unlisted).toBe(0);
      const ended = rollout({ task_id: task, history: [failed, attempt({ at: 150 })] });
      expect(Object.values(addAttempts(totals, ended, 100, 200).incomplete)).toEqual([1]);
    },
  );

  test("stay bounded, whatever dies, and none is hidden: what is not listed is counted", () => {
    const totals = sumOf(Array.from({ length: 800 }, (_, n) => `task-${n}`));
    expect(Object.keys(totals.incomplete)).toHaveLength(500);
    expect(totals.incomplete).toHaveProperty("task-0");
    expect(deadIn(totals)).toBe(800);
    const long = sumOf(Array.from({ length: 800 }, (_, n) => `${n}-${"語".repeat(508)}`));
    expect(sizeOf(toAttributes(long))).toBeLessThan(101_000);
    expect(deadIn(long)).toBe(800);
  });

  test("that were not listed are whole again as well, when their rollout has ended", () => {
    const tasks = Array.from({ length: 501 }, (_, n) => `task-${n}`);
    const ended = rollout({ task_id: "task-500", history: [failed, attempt({ at: 150 })] });
    const totals = addAttempts(sumOf(tasks), ended, 100, 200);
    expect(totals.incomplete_unlisted).toBe(0);
    expect(Object.keys(totals.incomplete)).toHaveLength(500);
  });
});
