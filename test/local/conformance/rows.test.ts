/** What each row of the conformance table says, and when it fails. */
import { describe, expect, test } from "vitest";
import type { ChangedRollout } from "../../../functions/core/housekeeping/totals.ts";
import { poolInformationSchema } from "../../../functions/core/protocol.ts";
import { ledgerOutputs } from "../../../local/conformance/ledger.ts";
import { PoolWatch } from "../../../local/conformance/pool-watch.ts";
import { type ConformanceEvidence, judge } from "../../../local/conformance/rows.ts";
import { engineAt } from "../../support/engine-that.ts";
import { FakeClock } from "../../support/fake-clock.ts";

const T = 1_800_000_000_000;

function rollout(key: string, episode: string, facts: Partial<ChangedRollout> = {}): ChangedRollout {
  const past = {
    id: `i.${key}`,
    episode,
    reason: "ended" as const,
    at: T,
    from: T - 9000,
    step: 1,
    reward: 0.5,
  };
  return { key, state: "ended", episode_type: "train", task_id: "t", attempts: 0, history: [past], ...facts };
}

function poolOf(...readings: object[]): PoolWatch {
  const watch = new PoolWatch(engineAt("http://127.0.0.1:1", { clock: new FakeClock(T) }));
  watch.watchTasks("th/");
  for (const [at, reading] of readings.entries())
    watch.note(
      poolInformationSchema.parse({ engine_status: "ENGINE.ROLLING", global_step: 1, ...reading }),
      T + at * 1000,
    );
  return watch;
}
const shown = {
  completed_tasks_details: { t: ["e1", "e2"] },
  completed_tasks_client_uuids: { "th/1": ["c"], other: ["c"] },
};

function evidenceOf(facts: Partial<ConformanceEvidence> = {}): ConformanceEvidence {
  const rollouts = [rollout("r1", "e1"), rollout("r2", "e2")];
  return {
    phases: [{ name: "main job", pushed: 2, rollouts, isRough: false }],
    pool: poolOf(shown, { ...shown, engine_status: "ENGINE.WEIGHT_SYNCING" }, { ...shown, global_step: 2 }),
    evalPrefix: "ev/",
    syncs: 1,
    throttle: { prefix: "th/", limit: 2 },
    openAtEngine: 0,
    kills: 1,
    restarted: true,
    ledger: ledgerOutputs('[{"episode_uuid": "e1", "reward": 0.5}, {"episode_uuid": "e2", "reward": 0.5}]'),
    ...facts,
  };
}
const failing = (facts: Partial<ConformanceEvidence> = {}) =>
  judge(evidenceOf(facts))
    .filter(({ ok }) => !ok)
    .map(({ row, expected, found }) => [row, expected, found]);
const phase = (rollouts: ChangedRollout[], isRough = false) => ({
  phases: [{ name: "main job", pushed: 2, rollouts, isRough }],
});

test("a run in which all is right has no failing row", () => {
  expect(failing()).toEqual([]);
  expect(judge(evidenceOf()).map(({ row }) => row)).toHaveLength(12);
  expect(judge(evidenceOf({ ledger: undefined, restarted: undefined, kills: undefined }))).toHaveLength(7);
});

test("of the throttled fleet's tasks those count that no batch before has had", () => {
  const batch = (global_step: number, ...tasks: string[]) => ({
    global_step,
    completed_tasks_client_uuids: Object.fromEntries(tasks.map((task) => [`th/${task}`, ["c"]])),
  });
  const pool = poolOf(batch(1, "1", "2"), batch(2, "2"), batch(2, "2", "3", "4"), batch(3, "5"));
  const at = (task: string, ...steps: number[]) =>
    rollout(task, task, {
      task_id: `th/${task}`,
      history: steps.map((step) => ({
        id: task,
        episode: task,
        reason: "disturbed" as const,
        at: T,
        from: T,
        step,
      })),
    });
  const found = (...rollouts: ChangedRollout[]) =>
    judge(evidenceOf({ ...phase(rollouts), pool })).find(({ row }) => row.startsWith("new tasks"))?.found;
  expect(found(at("2", 1, 2), at("3", 2), at("4", 2))).toBe("2");
  expect(found(at("2", 2), at("3", 2), at("4", 2))).toBe("3");
  expect(found(at("2", 2), at("3", 1))).toBe("2");
});

test("an end that a stop of the engine has cut is missing from the ledger, in a rough phase and about then alone", () => {
  const one = ledgerOutputs('[{"episode_uuid": "e1", "reward": 0.5}]');
  const name = "ended train episodes in the ledger";
  const ledgerRow = (isRough: boolean, at = T) => {
    const rollouts = [rollout("r1", "e1"), rollout("r2", "e2")].map((found) => ({
      ...found,
      history: found.history.map((past) => ({ ...past, at })),
    }));
    return judge(evidenceOf({ ...phase(rollouts, isRough), ledger: one })).find(({ row }) => row === name);
  };
  expect(ledgerRow(true)).toMatchObject({ found: "1, and 1 whose end the engine's stop has cut", ok: true });
  expect(ledgerRow(false)).toMatchObject({ found: "1", ok: false });
  expect(ledgerRow(true, T - 60_000)).toMatchObject({ found: "1", ok: false });
});

describe("a phase", () => {
  test("fails over rollouts that are dead, unknown or not final", () => {
    const rollouts = [rollout("r1", "e1"), rollout("r2", "e2", { state: "running" })];
    expect(failing(phase(rollouts))[0]).toEqual(["main job", "2 ended", "1 ended, 1 not final"]);
    const dead = [rollout("r1", "e1"), rollout("r2", "e2", { state: "dead" })];
    expect(failing(phase(dead))[0]).toEqual(["main job", "2 ended", "1 ended, 1 dead letters"]);
    const unknown = [rollout("r1", "e1"), rollout("r2", "e2", { state: "unknown" })];
    expect(failing(phase(unknown))[0]).toEqual(["main job", "2 ended", "1 ended, 1 unknown"]);
  });

  test("may leave ends unknown where functions or the engine were torn down", () => {
    const unknown = [rollout("r1", "e1"), rollout("r2", "e2", { state: "unknown" })];
    expect(failing({ ...phase(unknown, true) })).toEqual([]);
  });
});

test.each<[string, Partial<ConformanceEvidence>, string]>([
  ["no sync", { syncs: 2 }, "weight syncs seen"],
  [
    "too many tasks",
    { throttle: { prefix: "th/", limit: 0 } },
    "new tasks of the throttled fleet in a batch",
  ],
  ["an open episode", { openAtEngine: 1 }, "episodes of ours left open at the engine"],
  ["nobody killed", { kills: 0 }, "functions killed"],
  ["no restart", { restarted: false }, "the engine rolls again after a restart"],
  ["an end that is not in the ledger", { ledger: [] }, "ended train episodes in the ledger"],
])("%s fails its row", (_, facts, row) => {
  expect(failing(facts).map(([name]) => name)).toEqual([row]);
});

describe("the pool", () => {
  test("has to show what ended, unless its batch was gone shortly after", () => {
    const some = { completed_tasks_details: { t: ["e1"] }, completed_tasks_client_uuids: { "th/1": ["c"] } };
    const readings = [some, { ...some, global_step: 2 }];
    const rows = (at: number) => {
      const late = rollout("r2", "e2");
      const history = late.history.map((past) => ({ ...past, at }));
      const rollouts = [rollout("r1", "e1"), { ...late, history }];
      return failing({ ...phase(rollouts), pool: poolOf(...readings), ledger: undefined });
    };
    expect(rows(T - 5000)).toEqual([]);
    expect(rows(T - 60_000)).toEqual([["ended train episodes that the pool has shown", "2", "1"]]);
  });

  test("must not show an eval, though its episode may serve a train rollout later", () => {
    const evals = { ...shown, completed_tasks_details: { "ev/1": ["e1"], t: ["e2"] } };
    expect(failing({ pool: poolOf(evals, { ...evals, global_step: 2 }) })).toEqual([
      ["evals among the pool's samples", "0", "1"],
    ]);
  });

  test("must not show two episodes of one rollout", () => {
    const [past] = rollout("r1", "e2").history;
    const both = rollout("r1", "e1");
    const rollouts = [{ ...both, history: [...(past ? [past] : []), ...both.history] }, rollout("r2", "e3")];
    const details = {
      completed_tasks_details: { t: ["e1", "e2", "e3"] },
      completed_tasks_client_uuids: { "th/1": [] },
    };
    const pool = poolOf(details, { ...details, global_step: 2 });
    expect(failing({ ...phase(rollouts), pool, ledger: undefined })).toEqual([
      ["rollouts that the pool shows twice", "0", "1"],
    ]);
  });
});

describe("the ledger", () => {
  test("has to have the table's rewards", () => {
    const ledger = ledgerOutputs(
      '{"episode_uuid": "e1", "reward": 0.5}\n{"episode_uuid": "e2", "reward": 0.4}\n',
    );
    expect(failing({ ledger })).toEqual([["… with another reward than the table's", "0", "1"]]);
  });

  test("must not have an episode twice", () => {
    const output = '{"kind": "output", "episode_uuid": "e2", "reward": 0.5}';
    const ledger = ledgerOutputs(
      `{"kind": "reset"}\n{"episode_uuid": "e1", "reward": 0.5}\n${output}\n${output}`,
    );
    expect(failing({ ledger })).toEqual([["… twice", "0", "1"]]);
  });
});
