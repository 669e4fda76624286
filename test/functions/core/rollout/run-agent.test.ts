import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Agent, AgentEpisode } from "../../../../functions/core/agent.ts";
import { InvalidOutputError, ModelError } from "../../../../functions/core/errors.ts";
import type { EpisodeType } from "../../../../functions/core/protocol.ts";
import { decodeMessage } from "../../../../functions/core/rollout/message.ts";
import { AttemptAborted, checkOutput, runAgent } from "../../../../functions/core/rollout/run-agent.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

const rollout = decodeMessage('{"task_id":"task-1","metadata":{"list":[1]}}', "m-1");
const tick = () => new Promise<void>((resolve) => setImmediate(resolve));
/** As an agent written in JavaScript might: whatever it returns, the types of the interface do not hold it back. */
type Loose = (task: Parameters<Agent>[0], episode: AgentEpisode) => unknown;

const unhandled: unknown[] = [];
const note = (reason: unknown) => unhandled.push(reason);
beforeEach(() => {
  unhandled.length = 0;
  process.on("unhandledRejection", note);
});
afterEach(async () => {
  await tick();
  process.off("unhandledRejection", note);
  expect(unhandled).toEqual([]);
});

function start(
  agent: Loose,
  options: { allow?: boolean; type?: EpisodeType; chat?: AgentEpisode["chat"] } = {},
) {
  const clock = new FakeClock(1000, "manual");
  const controller = new AbortController();
  const log = vi.fn();
  let calls = 0;
  const chat = options.chat ?? (async () => ({ role: "assistant", content: "4" }));
  const counted: AgentEpisode["chat"] = (request) => {
    calls += 1;
    return chat(request);
  };
  const agents = {
    agent: agent as Agent,
    start: () => ({ chat: counted, calls: () => calls, lastCallAt: () => (calls === 0 ? undefined : 7) }),
  };
  const end = runAgent(
    { clock, agents },
    {
      rollout: { ...rollout, episodeType: options.type ?? "train" },
      grant: { openai_base_url: "http://engine/v1", openai_api_key: "sk-ajet-secret" },
      controller,
      deadline: 61_000,
      allowUnusualRewards: options.allow ?? false,
      log,
    },
  );
  return { end, clock, controller, log };
}

describe("an agent that returns", () => {
  test("has its output completed and its calls counted", async () => {
    const { end } = start(async (_task, { chat }) => {
      await chat({ messages: [] });
      await chat({ messages: [] });
      return { reward: 0.25 };
    });
    expect(await end).toEqual({
      kind: "output",
      output: { reward: 0.25, is_success: null, metadata: {}, log_metrics: {} },
      calls: 2,
      lastCallAt: 7,
    });
  });

  test("gets its task, a deadline, the model's address and key, and a log of its own", async () => {
    const { end, log } = start((task, { baseUrl, apiKey, deadline, log: say, signal }) => {
      say("thinking", { step: 1 });
      return {
        reward: 1,
        metadata: { id: task.task_id, baseUrl, apiKey, deadline, aborted: signal.aborted },
      };
    });
    expect(await end).toMatchObject({
      output: {
        metadata: {
          id: "task-1",
          baseUrl: "http://engine/v1",
          apiKey: "sk-ajet-secret",
          deadline: 61_000,
          aborted: false,
        },
      },
    });
    expect(log.mock.calls).toEqual([["info", "thinking", { step: 1 }]]);
  });

  test("may change its task: the rollout's stays as it is", async () => {
    await start((task) => {
      Object.assign(task, { task_id: "other" });
      (task.metadata["list"] as number[]).push(2);
      return { reward: 1 };
    }).end;
    expect(rollout.task).toMatchObject({ task_id: "task-1", metadata: { list: [1] } });
  });

  test("wakes no deadline later, and what it left running is told to stop", async () => {
    const { end, clock, controller } = start(() => ({ reward: 1 }));
    await end;
    await tick();
    expect(clock.sleeping).toBe(0);
    expect(controller.signal.reason).toMatchObject({ reason: "ended", message: "the agent has returned" });
  });

  test("and leaves a model call behind harms nobody when that is cut off", async () => {
    const { end } = start(
      (_task, { chat }) => {
        void chat({ messages: [] });
        return { reward: 1 };
      },
      { chat: () => tick().then(() => Promise.reject(new ModelError("cut off"))) },
    );
    expect(await end).toMatchObject({ kind: "output", calls: 1, lastCallAt: 7 });
  });
});

describe("an agent that fails", () => {
  class AgentAbort extends Error {
    override readonly name = "AgentAbort";
  }
  const nothing: unknown = Object.create(null);
  test.each<[string, unknown, string, string]>([
    ["an error", new TypeError("boom"), "agent-error", "TypeError: boom"],
    ["a string", "boom", "agent-error", "boom"],
    ["undefined", undefined, "agent-error", "undefined"],
    ["what has no words", nothing, "agent-error", "an error that cannot be put into words"],
    [
      "the model's error",
      new ModelError("no choices", 401),
      "agent-error",
      "ModelError: no choices (HTTP 401)",
    ],
    ["AgentAbort", new AgentAbort("bad luck"), "agent-aborted", "AgentAbort: bad luck"],
    ["a secret", new Error("key sk-ajet-abcdef"), "agent-error", "Error: key sk-***"],
  ])("by throwing %s, at once or later, ends under that reason", async (_what, thrown, reason, detail) => {
    const failure = { kind: "failed", reason, detail, calls: 0 };
    const atOnce = start(() => {
      throw thrown;
    });
    expect(await atOnce.end).toEqual(failure);
    const later = start(async () => {
      await tick();
      throw thrown;
    });
    expect(await later.end).toEqual(failure);
  });
});

describe("an agent that is not done", () => {
  const deaf: Loose = () => new Promise(() => undefined);

  test("is given up at the deadline, not before", async () => {
    const { end, clock, controller } = start(deaf);
    await clock.advance(59_999);
    expect(controller.signal.aborted).toBe(false);
    await clock.advance(1);
    expect(await end).toEqual({
      kind: "failed",
      reason: "deadline",
      detail: "the agent was not done at the episode's deadline",
      calls: 0,
    });
  });

  test("is given up at once when the engine wants the episode no more", async () => {
    const { end, controller } = start(deaf);
    controller.abort(new AttemptAborted("engine-left-rolling", "the engine is ENGINE.OFFLINE"));
    expect(await end).toMatchObject({
      reason: "engine-left-rolling",
      detail: "the engine is ENGINE.OFFLINE",
    });
  });

  test("is not to blame for what it throws once the signal has fired", async () => {
    const { end, controller } = start(
      (_task, { signal }) =>
        new Promise((_resolve, reject) =>
          signal.addEventListener("abort", () => reject(new Error("cleanup failed"))),
        ),
    );
    controller.abort(new AttemptAborted("straggler", "the engine waits"));
    expect(await end).toMatchObject({ reason: "straggler", detail: "the engine waits" });
  });

  test("may succeed or fail later without anybody noticing", async () => {
    const outcomes: ((end: () => unknown) => void)[] = [];
    const late: Loose = async () => (await new Promise<() => unknown>((resolve) => outcomes.push(resolve)))();
    for (const outcome of [() => ({ reward: 1 }), () => Promise.reject(new Error("late"))]) {
      const { end, clock } = start(late);
      await clock.advance(60_000);
      expect(await end).toMatchObject({ kind: "failed", reason: "deadline" });
      outcomes.pop()?.(outcome);
      await tick();
    }
  });

  test("fails at once where the deadline has passed already", async () => {
    const { end, clock } = start(deaf);
    await clock.advance(100_000);
    expect(await end).toMatchObject({ reason: "deadline" });
  });
});

describe("what an agent returns", () => {
  const full = { reward: 1, is_success: null, metadata: {}, log_metrics: {} };
  const check = (value: unknown, type: EpisodeType = "train", allow = false) => {
    try {
      return checkOutput(value, type, allow);
    } catch (error) {
      if (error instanceof InvalidOutputError) return error.message;
      throw error;
    }
  };

  test.each([
    [{ reward: 1 }, full],
    [
      { reward: -0.5, is_success: false },
      { ...full, reward: -0.5, is_success: false },
    ],
    [{ reward: 1, extra: 1 }, full],
    [
      { reward: 1, log_metrics: { a: 1, b: [1, 2] } },
      { ...full, log_metrics: { a: 1, b: [1, 2] } },
    ],
    [
      { reward: 1, metadata: { at: new Date(0), gone: undefined, run: () => 1, nan: Number.NaN } },
      { ...full, metadata: { at: "1970-01-01T00:00:00.000Z", nan: null } },
    ],
    [
      { reward: 1, metadata: { "\ud800": "\udfff" } },
      { ...full, metadata: { "\ufffd": "\ufffd" } },
    ],
  ])("is taken as JSON will carry it (case %#)", (value, output) => {
    expect(check(value)).toEqual(output);
  });

  test.each([
    [null, "output: Invalid input: expected object, received null"],
    [undefined, "output: Invalid input: expected object, received undefined"],
    [1, "output: Invalid input: expected object, received number"],
    [[1], "output: Invalid input: expected object, received array"],
    [{ reward: "1" }, "reward: Invalid input"],
    [{ reward: true }, "reward: Invalid input"],
    [{ reward: Number.NaN }, "reward: Invalid input"],
    [{ reward: Number.POSITIVE_INFINITY }, "reward: Invalid input"],
    [{ reward: 1n }, "reward: Invalid input"],
    [{ reward: 1, is_success: 1 }, "is_success: Invalid input: expected boolean, received number"],
    [{ reward: 1, metadata: [] }, "metadata: Invalid input: expected record, received array"],
    [{ reward: 1, log_metrics: { a: "x" } }, "log_metrics.a: Invalid input"],
    [{ reward: 1, log_metrics: { a: Number.NaN } }, "log_metrics.a: Invalid input"],
  ])("is refused where the trainer cannot use it (case %#)", (value, fault) => {
    expect(check(value)).toBe(`expected a WorkflowOutput, found ${fault}`);
  });

  test.each([
    [{}, "null"],
    [{ reward: null }, "null"],
    [{ reward: [1, 0] }, "a list"],
    [{ reward: [] }, "a list"],
  ])("needs one number as a train reward (case %#)", (value, found) => {
    expect(check(value)).toBe(
      `expected a finite number as reward, found ${found}: the trainer loses a slot over it. ` +
        "Return one number, or set allowUnusualRewards",
    );
  });

  test("may be null or a list where a setting allows it, and in an eval episode", () => {
    expect(check({ reward: null }, "train", true)).toEqual({ ...full, reward: null });
    expect(check({ reward: [1, 0] }, "train", true)).toEqual({ ...full, reward: [1, 0] });
    expect(check({ reward: [1] }, "eval")).toEqual({ ...full, reward: [1] });
    expect(check({}, "eval")).toEqual({ ...full, reward: null });
  });

  test("has no reward that the rollout's item could not hold", () => {
    const list = (count: number) => ({ reward: Array<number>(count).fill(1) });
    expect(check(list(24_999), "eval")).toMatchObject(list(24_999));
    const refused =
      "expected a reward of at most 50000 bytes as JSON, found a list of 25000 numbers, 50001 bytes. Return fewer";
    expect(check(list(25_000), "eval")).toBe(refused);
    expect(check(list(25_000), "train", true)).toBe(refused);
  });

  test.each([[{ reward: 1e39 }], [{ reward: -1e300 }]])(
    "must not become infinite in the trainer (case %#)",
    (value) => {
      expect(check(value)).toMatch(/^expected a reward that a 32-bit float holds/);
      expect(check({ reward: [1, value.reward] }, "train", true)).toMatch(
        /^expected a reward that a 32-bit float holds/,
      );
    },
  );

  test("is refused where JSON cannot carry its metadata", () => {
    const cyclic: Record<string, unknown> = {};
    cyclic["self"] = cyclic;
    const expected = /^expected metadata that JSON can carry, found TypeError: .*BigInt/;
    expect(check({ reward: 1, metadata: { n: 1n } })).toMatch(expected);
    expect(check({ reward: 1, metadata: cyclic })).toMatch(
      /^expected metadata that JSON can carry, found TypeError/,
    );
  });

  test("that is invalid costs the attempt under that name", async () => {
    expect(await start(() => ({ reward: "1" })).end).toMatchObject({
      kind: "failed",
      reason: "invalid-output",
    });
    expect(await start(() => ({ reward: null }), { allow: true }).end).toMatchObject({ kind: "output" });
    expect(await start(() => ({ reward: null }), { type: "eval" }).end).toMatchObject({ kind: "output" });
  });

  test("that throws when it is read costs the attempt", async () => {
    const trap = {
      get reward() {
        throw new Error("trap");
      },
    };
    expect(await start(() => trap).end).toMatchObject({
      kind: "failed",
      reason: "agent-error",
      detail: "Error: trap",
    });
  });
});
