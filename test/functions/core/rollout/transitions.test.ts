import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Reason, reasons } from "../../../../functions/core/reasons.ts";
import {
  isFinal,
  isOpen,
  isSentAgain,
  type RolloutItem,
  rolloutItemSchema,
} from "../../../../functions/core/rollout/item.ts";
import { decodeMessage } from "../../../../functions/core/rollout/message.ts";
import {
  closed,
  confirmed,
  failed,
  firstSeen,
  goneSince,
  lastAttempt,
  letterSent,
  type NextItem,
  opened,
  revived,
  sentAgain,
  withResult,
} from "../../../../functions/core/rollout/transitions.ts";
import { anAttempt, anItem, anOpenItem, NOW } from "../items.ts";

const allReasons = Object.keys(reasons) as Reason[];
const result = { reward: 0.5, is_success: true, metadata: { a: 1 }, log_metrics: {} };
const stamped = (item: NextItem): RolloutItem => ({ ...item, stamp: "s" });
const close = (item: RolloutItem, reason: Reason, maxAttempts = 3, detail?: string) => {
  if (!isOpen(item)) throw new Error("expected an open item");
  return closed(item, { reason, now: NOW + 9000, maxAttempts, detail });
};

describe("a rollout that the table does not know", () => {
  const names = { fleet: "main", engine: "engine-1" };

  test("waits, with no attempt behind it", () => {
    const rollout = decodeMessage(JSON.stringify({ task: { task_id: "task-1" }, run: "a" }), "m");
    expect(stamped(firstSeen(rollout, names, NOW))).toEqual(anItem({ stamp: "s" }));
  });

  test("has no run where the message names none", () => {
    const item = firstSeen(decodeMessage('{"task_id":"t"}', "m"), names, NOW);
    expect(Object.keys(item)).not.toContain("run");
  });
});

describe("an open attempt", () => {
  test("is counted as a try at once and not as used up", () => {
    const next = opened(anItem({ tries: 4, attempts: 1 }), anAttempt(), NOW + 1);
    expect(next).toMatchObject({
      state: "running",
      tries: 5,
      attempts: 1,
      attempt: anAttempt(),
      changed_at: NOW + 1,
    });
  });

  test("keeps its result, the calls and the time of both", () => {
    const next = withResult(anOpenItem(), result, { calls: 7, lastCallAt: NOW - 3 }, NOW + 5);
    expect(next.state).toBe("reporting");
    expect(next.attempt).toEqual({
      ...anAttempt(),
      result,
      last_call_at: NOW - 3,
      result_at: NOW + 5,
      model_calls: 7,
    });
  });

  test("closes under any reward that an earlier release stored, and keeps one that its item holds", () => {
    const rewardOf = (reward: number[]) =>
      close({ ...anOpenItem({}, { result: { ...result, reward } }), state: "reporting" }, "ended").history[0]
        ?.reward;
    expect(rewardOf([1, 0.5])).toEqual([1, 0.5]);
    expect(rewardOf(Array<number>(100_000).fill(1))).toBeUndefined();
  });

  test("remembers since when it is gone, and how it failed, and stays open", () => {
    expect(goneSince(anOpenItem(), NOW + 5)).toMatchObject({
      state: "running",
      attempt: { gone_since: NOW + 5 },
    });
    expect(failed(anOpenItem(), "agent-error", "boom").attempt).toEqual({
      ...anAttempt(),
      failure: { reason: "agent-error", detail: "boom" },
    });
    expect(failed(anOpenItem(), "deadline", undefined).attempt?.failure).toEqual({ reason: "deadline" });
  });

  test("keeps at most 1000 characters of a detail, none of them half of one", () => {
    const detail = `${"x".repeat(999)}🙂`;
    expect(failed(anOpenItem(), "crashed", detail).attempt?.failure?.detail).toBe(`${"x".repeat(999)}\ufffd`);
    expect(lastAttempt(stamped(close(anOpenItem(), "crashed", 3, detail)))?.detail).toBe(
      `${"x".repeat(999)}\ufffd`,
    );
  });
});

describe("an attempt that ends", () => {
  const penalty: Record<Reason, 0 | 1> = {
    ended: 0,
    "agent-error": 1,
    "agent-aborted": 1,
    "agent-discarded": 0,
    "agent-refused": 1,
    "agent-unreachable": 0,
    "agent-busy": 0,
    "agent-lost": 0,
    "model-error": 1,
    "invalid-output": 1,
    deadline: 1,
    "episode-lost": 1,
    "engine-left-rolling": 0,
    "engine-refused": 0,
    "engine-unreachable": 0,
    straggler: 0,
    disturbed: 0,
    suspected: 0,
    crashed: 1,
    expired: 1,
    unknown: 1,
    "training-lost": 1,
    "invalid-message": 1,
  };

  test.each(allReasons)("as %s uses up what that reason is worth", (reason) => {
    const next = close(anOpenItem({ attempts: 1 }), reason, 5);
    expect(next.attempts).toBe(1 + penalty[reason]);
    expect(next.attempt).toBeUndefined();
    expect(next.history).toEqual([
      { id: "invocation-1.1", episode: "episode-1", reason, at: NOW + 9000, from: NOW, step: 1 },
    ]);
    expect(next.changed_at).toBe(NOW + 9000);
  });

  test.each([
    ["ended", "ended"],
    ["unknown", "unknown"],
    ["training-lost", "lost"],
    ["agent-error", "dead"],
    ["straggler", "waiting"],
  ] as const)("as %s, with one attempt left, leaves the rollout %s", (reason, state) => {
    const next = close(anOpenItem({ attempts: 2 }), reason, 3);
    expect(next.state).toBe(state);
    expect(next.letter).toBe(state === "dead" ? "owed" : undefined);
  });

  test("with attempts left leaves the rollout waiting", () => {
    expect(close(anOpenItem({ attempts: 1 }), "agent-error", 3).state).toBe("waiting");
  });

  test.each(["engine-left-rolling", "engine-refused", "engine-unreachable", "straggler"] as const)(
    "as %s never kills a rollout, however often",
    (reason) => {
      let item = anItem({ attempts: 2 });
      for (let n = 0; n < 100; n += 1) item = stamped(close(stamped(opened(item, anAttempt(), NOW)), reason));
      expect(item).toMatchObject({ state: "waiting", attempts: 2, tries: 100 });
      expect(item.history).toHaveLength(20);
    },
  );

  test("tells its reward only where the engine took it, or may have", () => {
    const withReward = (reason: Reason) =>
      close(stamped(withResult(anOpenItem(), result, { calls: 2 }, NOW)), reason).history.map(
        ({ reward, calls }) => [reward, calls],
      );
    expect(withReward("ended")).toEqual([[0.5, 2]]);
    expect(withReward("unknown")).toEqual([[0.5, 2]]);
    expect(withReward("episode-lost")).toEqual([[undefined, 2]]);
  });

  test("keeps the newest twenty of its like", () => {
    const old = Array.from({ length: 20 }, (_, n) => ({
      id: `old-${n}`,
      episode: "e",
      reason: "straggler" as const,
      at: n,
      from: 0,
      step: null,
    }));
    const { history } = close(anOpenItem({ history: old }), "straggler");
    expect([history.length, history[0]?.id, history.at(-1)?.id]).toEqual([20, "old-1", "invocation-1.1"]);
  });
});

test("a sent letter and a confirmation change nothing else", () => {
  const dead = anItem({ state: "dead", letter: "owed" });
  expect(letterSent(dead, NOW + 1)).toEqual({ ...dead, letter: "sent", changed_at: NOW + 1 });
  const ended = anItem({ state: "ended" });
  expect(confirmed(ended, NOW + 1)).toEqual({ ...ended, confirmed_at: NOW + 1 });
  expect(confirmed(ended, null)).toEqual({ ...ended, confirmed_at: null });
});

describe("what an agent returned beside its reward", () => {
  const open = (output: object) =>
    anOpenItem({ state: "reporting" }, { result: { ...result, ...output }, result_at: NOW });
  const kept = (item: NextItem) => JSON.parse(item.output ?? "null");

  test("stays with the end that counts, and with no other", () => {
    const item = open({ log_metrics: { steps: 3 } });
    const facts = { is_success: true, metadata: { a: 1 }, log_metrics: { steps: 3 } };
    expect(kept(close(item, "ended"))).toEqual(facts);
    expect(close(item, "episode-lost").output).toBeUndefined();
    expect(close(open({ is_success: null, metadata: {} }), "ended").output).toBeUndefined();
  });

  test("is shortened, whatever the reward", () => {
    const metadata = { a: 1, long: "x".repeat(5000) };
    const item = open({ metadata, reward: Array.from({ length: 1000 }, () => 0.5) });
    expect(kept(close(item, "ended")).metadata).toEqual({ a: 1, long: "left out: 5002 bytes" });
    expect(close(item, "ended").output?.length).toBeLessThan(2000);
  });
});

test("a dead letter that is sent back revives its rollout, or leaves the mark of a new one", () => {
  const dead = stamped({ ...anItem({ state: "dead", attempts: 3, tries: 4 }), letter: "sent" });
  const { letter: _, ...waiting } = dead;
  const fresh = { state: "waiting", attempts: 0, changed_at: NOW + 1 };
  expect(revived(dead, NOW + 1)).toEqual({ ...waiting, ...fresh });
  expect(sentAgain(dead, NOW + 1)).toEqual({ ...dead, ...fresh });
  const states = [dead, revived(dead, NOW), sentAgain(dead, NOW), { ...dead, letter: "owed" as const }];
  expect(states.map((item) => isSentAgain(stamped(item)))).toEqual([false, false, true, false]);
});

test("whatever happens to a rollout, its item makes sense and at most one end is final", () => {
  const fate = fc.record({ reason: fc.constantFrom(...allReasons), stored: fc.boolean() });
  fc.assert(
    fc.property(fc.array(fate, { maxLength: 40 }), fc.integer({ min: 1, max: 5 }), (fates, maxAttempts) => {
      let item = anItem();
      let tries = 0;
      for (const { reason, stored } of fates) {
        if (isFinal(item)) break;
        tries += 1;
        item = stamped(opened(item, anAttempt({ id: `a.${tries}` }), NOW));
        if (stored && isOpen(item)) item = stamped(withResult(item, result, { calls: 1 }, NOW));
        expect(item.attempt?.id).toBe(`a.${tries}`);
        item = stamped(close(item, reason, maxAttempts));
        expect(item.attempt).toBeUndefined();
      }
      expect(item.tries).toBe(tries);
      expect(item.history.length).toBe(Math.min(tries, 20));
      expect(item.attempts).toBeLessThanOrEqual(maxAttempts);
      expect(item.history.slice(0, -1).some(({ reason }) => reason === "ended" || reason === "unknown")).toBe(
        false,
      );
      expect(rolloutItemSchema.parse(item)).toEqual(item);
    }),
  );
});
