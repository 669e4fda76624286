import { describe, expect, test } from "vitest";
import { admissionDefaults, decide, withoutClaims } from "../../../../functions/core/admission/admission.ts";
import type { AdmissionState, FleetAdmission } from "../../../../functions/core/admission/admission-item.ts";
import { taskKey } from "../../../../functions/core/admission/task-key.ts";
import { isClientOf } from "../../../../functions/core/client-uuid.ts";
import { evalName } from "../../../../functions/core/eval-name.ts";
import { poolInformationSchema } from "../../../../functions/core/protocol.ts";

const now = 1_000_000;
const setting = { ratio: 0.5, batchSize: 4, repeats: 2 };
const rules = { ...admissionDefaults, setting, isOurs: (uuid: string) => isClientOf("math", uuid) };

const item = (facts: Partial<FleetAdmission>): FleetAdmission => ({
  version: 1,
  stamp: "",
  changed_at: now,
  global_step: 3,
  seen: [],
  places: {},
  ...facts,
});
/** Running and completed episodes, as `client: task`. */
const pool = (running: Record<string, string>, completed: Record<string, string> = {}, step = 3) =>
  poolInformationSchema.parse({
    engine_status: "ENGINE.ROLLING",
    global_step: step,
    running_episode_details:
      Object.keys(running).length === 0
        ? null
        : Object.fromEntries(
            Object.entries(running).map(([client, task], index) => [
              `e${index}`,
              { client_uuid: client, optional_task_id: task },
            ]),
          ),
    completed_tasks_client_uuids: Object.fromEntries(
      Object.entries(completed).map(([client, task]) => [task, [client]]),
    ),
  });
const ask = (...tasks: string[]) => tasks.map((taskId) => ({ taskId, counted: false }));
const full = (count: number, task: string) =>
  `Throttling because there are already ${count} unique tasks in the batch, which meets/exceeds the threshold of 2.0 for task_id ${task}.`;
const admitted = { admitted: true, reason: "" };
const busy = pool({ "code/i.1": "theirs" });

describe("rollouts that ask together", () => {
  test("get in up to the bound, with their siblings, and are written down as reservations", () => {
    const { verdicts, next } = decide(undefined, busy, ask("c", "a", "b", "a"), rules, now);
    const refused = { admitted: false, reason: full(2, "c") };
    expect(verdicts).toEqual([refused, admitted, admitted, admitted]);
    expect(next).toEqual({
      global_step: 3,
      seen: ["a", "b"],
      places: { a: { since: now, claims: 2 }, b: { since: now, claims: 1 } },
    });
  });

  test("prefer the task with most of its repeats at hand", () => {
    const { verdicts } = decide(undefined, busy, ask("a", "b", "c", "c"), rules, now);
    expect(verdicts.map((verdict) => verdict.admitted)).toEqual([true, false, true, true]);
  });

  test("an idle engine lets only one in on top of the bound, and only after a while", () => {
    const done = pool({}, { "math/i.1": "a", "math/i.2": "b" });
    const before = item({ seen: ["a", "b"], places: { a: {}, b: {} } });
    const first = decide(before, done, ask("c", "d"), rules, now);
    expect(first.verdicts.map((verdict) => verdict.admitted)).toEqual([false, false]);
    expect(first.next?.idle_since).toBe(now);
    const idle = item({ ...before, idle_since: now });
    const early = decide(idle, done, ask("c", "d"), rules, now + 9999);
    expect(early).toEqual({ verdicts: first.verdicts, next: undefined });
    const late = decide(idle, done, ask("c", "d"), rules, now + 10_000);
    expect(late.verdicts).toEqual([admitted, { admitted: false, reason: full(3, "d") }]);
  });

  test("another fleet at work ends the idleness; work of our own does not", () => {
    const idle = item({ seen: ["a", "b"], places: { a: {}, b: {} }, idle_since: now - 5000 });
    const ours = pool({ "math/i.3": "b" }, { "math/i.1": "a" });
    expect(decide(idle, ours, ask("c"), rules, now).next).toBeUndefined();
    const theirs = pool({ "code/i.3": "z" }, { "math/i.1": "a", "math/i.2": "b" });
    expect(decide(idle, theirs, ask("c"), rules, now).next).toEqual({
      global_step: 3,
      seen: ["a", "b"],
      places: { a: {}, b: {} },
    });
  });
});

describe("what counts", () => {
  test("a reservation of another function, and a task that the pool shows", () => {
    const before = item({ seen: ["a"], places: { a: { since: now - 1000, claims: 1 } } });
    const { verdicts } = decide(before, pool({ "math/i.9": "b" }), ask("c", "b", "a"), rules, now);
    expect(verdicts).toEqual([{ admitted: false, reason: full(2, "c") }, admitted, admitted]);
  });

  test("eval episodes of ours do not, other fleets' tasks do not", () => {
    const running = pool({ "math/i.1": evalName("a"), "math/i.2": evalName("b"), "code/i.1": "c" });
    const { verdicts } = decide(undefined, running, ask("d", "e", "f"), rules, now);
    expect(verdicts).toEqual([admitted, admitted, { admitted: false, reason: full(2, "f") }]);
  });

  test("a task that another fleet has touched passes, and takes no place", () => {
    const before = item({ seen: ["a"], places: { a: { since: now, claims: 1 } } });
    const { verdicts } = decide(before, pool({ "code/i.1": "shared" }), ask("shared", "b", "c"), rules, now);
    expect(verdicts).toEqual([admitted, admitted, { admitted: false, reason: full(2, "c") }]);
  });

  test("in a new batch nothing of the old one, but what was seen passes", () => {
    const before = item({ seen: ["a", "b"], places: { a: {}, b: { since: now } } });
    const { verdicts, next } = decide(
      before,
      pool({ "code/i.1": "z" }, {}, 4),
      ask("c", "d", "e", "a"),
      rules,
      now,
    );
    expect(verdicts.map((verdict) => verdict.admitted)).toEqual([true, false, false, true]);
    expect([next?.global_step, Object.keys(next?.places ?? {}), next?.seen]).toEqual([
      4,
      ["a", "c"],
      ["a", "b", "c"],
    ]);
  });

  test("in a new batch a task that was admitted to the old one and never claimed is new again", () => {
    const before = item({ seen: ["a", "b"], places: { a: {}, b: { since: now, claims: 2 } } });
    const running = pool({ "code/i.1": "z" }, {}, 4);
    const { verdicts, next } = decide(before, running, ask("b", "c", "d", "a"), rules, now);
    // The bound is two: `a` was in an earlier batch and passes; of the others one has room.
    expect(verdicts).toEqual([
      admitted,
      { admitted: false, reason: full(2, "c") },
      { admitted: false, reason: full(2, "d") },
      admitted,
    ]);
    expect(next?.seen).toEqual(["a", "b"]);
    const others = decide(before, running, ask("c", "d"), rules, now);
    expect(others.next?.seen).toEqual(["a", "c", "d"]);
  });

  test("a step that went back, as after a new start of the engine, is a new batch too", () => {
    const before = item({ global_step: 90, places: { a: {}, b: {} } });
    expect(decide(before, pool({ "code/i.1": "z" }, {}, 1), ask("c"), rules, now).verdicts).toEqual([
      admitted,
    ]);
  });
});

describe("a place", () => {
  const look = (before: FleetAdmission | AdmissionState, shown: Record<string, string>, at: number) =>
    decide(item(before), pool({ "code/i.1": "z", ...shown }), [], rules, at).next;

  test("stops being a reservation when the pool shows it, and becomes one when it no longer does", () => {
    const shown = look(
      { global_step: 3, seen: ["a"], places: { a: { since: now, claims: 2 } } },
      { "math/i.1": "a" },
      now,
    );
    expect(shown?.places).toEqual({ a: {} });
    expect(shown && look(shown, {}, now + 1000)?.places).toEqual({ a: { since: now + 1000 } });
  });

  test("ages out after 60 s and two looks that the pool's lag lies between, and is forgotten", () => {
    const before = item({ seen: ["a", "b"], places: { a: { since: now, claims: 1 } } });
    expect(look(before, {}, now + 44_999)).toBeUndefined();
    const doubted = look(before, {}, now + 45_000);
    expect(doubted?.places).toEqual({ a: { since: now, claims: 1, doubted: now + 45_000 } });
    expect(doubted && look(doubted, {}, now + 59_999)).toBeUndefined();
    expect(doubted && look(doubted, {}, now + 60_000)).toEqual({ global_step: 3, seen: ["b"], places: {} });
  });

  test("is not given up at the first look after a long silence", () => {
    const before = item({ seen: ["a"], places: { a: { since: now, claims: 1 } } });
    expect(look(before, {}, now + 3_600_000)?.places["a"]?.doubted).toBe(now + 3_600_000);
  });

  test("is renewed by who still waits, written down once in 20 s", () => {
    const before = item({ seen: ["a"], places: { a: { since: now, claims: 1 } } });
    const again = [{ taskId: "a", counted: true }];
    expect(decide(before, busy, again, rules, now + 19_999).next).toBeUndefined();
    expect(decide(before, busy, again, rules, now + 20_000).next?.places).toEqual({
      a: { since: now + 20_000, claims: 1 },
    });
  });

  test("of a clock that is an hour ahead does not last an hour", () => {
    const before = item({ seen: ["a"], places: { a: { since: now + 3_600_000, claims: 1 } } });
    expect(look(before, {}, now)?.places).toEqual({ a: { since: now, claims: 1 } });
  });

  test("is given back by the last of those who claimed it, and forgotten", () => {
    const before = item({ seen: ["a", "b"], places: { a: { since: now, claims: 2 }, b: {} } });
    const one = withoutClaims(before, ["a"]);
    expect(one?.places).toEqual({ a: { since: now, claims: 1 }, b: {} });
    expect(withoutClaims(before, ["a", "a"])).toEqual({ global_step: 3, seen: ["b"], places: { b: {} } });
    expect(withoutClaims(before, ["b", "unknown"])).toBeUndefined();
  });
});

describe("the item is bounded", () => {
  test("the memory as the reference's: three batches' episodes, oldest out first", () => {
    const seen = Array.from({ length: 24 }, (_, index) => `s${index}`);
    expect(decide(item({ seen }), busy, ask("new"), rules, now).next?.seen).toEqual([
      ...seen.slice(1),
      "new",
    ]);
  });

  test("no more than 8,000 seen tasks and 2,400 places, however large the batch", () => {
    const huge = { ...rules, setting: { ratio: 1, batchSize: 1_000_000, repeats: 16 } };
    const { verdicts, next } = decide(
      undefined,
      busy,
      ask(...Array.from({ length: 3000 }, (_, i) => `t${i}`)),
      huge,
      now,
    );
    expect(verdicts.filter((verdict) => verdict.admitted).length).toBe(2400);
    expect(Object.keys(next?.places ?? {}).length).toBe(2400);
    const seen = Array.from({ length: 8000 }, (_, index) => `s${index}`);
    expect(decide(item({ seen }), busy, ask("new"), huge, now).next?.seen.length).toBe(8000);
  });

  test("a task id of any length and script has a key of at most 24 ASCII characters", () => {
    const ids = [
      "x".repeat(512),
      "é".repeat(20),
      "数学-1",
      "__proto__",
      "#1",
      "",
      "a".repeat(25),
      "a".repeat(26),
    ];
    const keys = ids.map(taskKey);
    expect(keys.every((key) => /^#[0-9a-z]{22}$/.test(key))).toBe(true);
    expect(new Set(keys).size).toBe(ids.length);
    expect(["task-17", "a b/c", "a".repeat(24)].map(taskKey)).toEqual(["task-17", "a b/c", "a".repeat(24)]);
  });
});
