import { describe, expect, test } from "vitest";
import { attemptLine, LiveErrors } from "../../../local/job/live-errors.ts";

const lineOf = (facts: object) => ({ line: JSON.stringify({ level: "WARN", ...facts }) });
const failed = (rollout: string, detail: string, reason = "agent-error") =>
  lineOf({ message: `attempt ${reason}`, reason, rollout, detail });

function live() {
  const shown: string[] = [];
  return { shown, errors: new LiveErrors((text) => shown.push(text)) };
}

describe("errors of a run", () => {
  test("are shown once, with rollout and line, and counted from then on", () => {
    const { shown, errors } = live();
    for (const task of ["a", "b", "c"])
      errors.note(failed(`run/r/train/0/${task}`, "TypeError: x is undefined\n  at agent (my-agent.ts:4:8)"));
    expect(shown).toEqual([
      "run/r/train/0/a: agent-error\n  TypeError: x is undefined\n    at agent (my-agent.ts:4:8)",
    ]);
    expect(errors.counts()).toEqual(["3 times: agent-error: TypeError: x is undefined (my-agent.ts:4:8)"]);
  });

  test("of further kinds are not shown: three say enough", () => {
    const { shown, errors } = live();
    for (const kind of [1, 2, 3, 4, 5]) errors.note(failed("r", `Error: kind ${kind}`));
    expect(shown).toHaveLength(3);
  });

  test("are the agent's: what the engine does is none, nor is a line that is no JSON", () => {
    const { shown, errors } = live();
    errors.note(failed("r", "the engine left its rolling states", "engine-left-rolling"));
    errors.note({ line: "Error: not JSON" });
    errors.note({ line: "null" });
    expect(shown).toEqual([]);
  });

  test("cannot control the terminal", () => {
    const { shown, errors } = live();
    errors.note(failed("r\u001b[2J", "Error: \u001b[31mred"));
    expect(shown.join("")).not.toContain("\u001b");
  });

  test.each([
    ["agent-error", "12 attempts failed one after another, the last as agent-error"],
    ["engine-unreachable", undefined],
  ])("stop the run where the circuit opens over %s", (reason, stopped) => {
    const { errors } = live();
    errors.note(lineOf({ message: "circuit opened: the fleet slows down", reason, failures: 12 }));
    expect(errors.stopped).toBe(stopped);
  });
});

test.each([
  [{ reason: "ended", reward: 1 }, "12:03:11  ended  key  reward 1"],
  [{ reason: "ended", reward: [1, 0] }, "12:03:11  ended  key  reward [1,0]"],
  [
    { reason: "agent-error", detail: "Error: a\n  at b.ts:1:2" },
    "12:03:11  agent-error  key  Error: a (b.ts:1:2)",
  ],
])("a live system has a line for each attempt: %j", (facts, line) => {
  const told = {
    ...facts,
    message: `attempt ${facts.reason}`,
    rollout: "key",
    timestamp: "2026-11-30T12:03:11.123Z",
  };
  expect(attemptLine(lineOf(told))).toBe(line);
  expect(attemptLine(lineOf({ ...told, message: "message deferred" }))).toBeUndefined();
});
