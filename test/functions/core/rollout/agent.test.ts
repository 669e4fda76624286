import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Agent, AgentEpisode } from "../../../../functions/contract/agent.ts";
import { InvalidOutputError, ModelError } from "../../../../functions/core/errors.ts";
import type { EpisodeType } from "../../../../functions/core/protocol.ts";
import { AttemptAborted, runAgent } from "../../../../functions/core/rollout/agent.ts";
import { checkOutput } from "../../../../functions/core/rollout/check-output.ts";
import { decodeMessage } from "../../../../functions/core/rollout/message.ts";
import { agentsHere } from "../../../../functions/core/rollout/perform-agent.ts";
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
  options: { allow?: boolean; type?: EpisodeType; chat?: AgentEpisode["chat"]; outage?: string } = {},
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
  const agents = agentsHere(agent as Agent, () => ({
    chat: counted,
    calls: () => calls,
    lastCallAt: () => (calls === 0 ? undefined : 7),
    outage: () => options.outage,
  }));
  const end = runAgent(
    { clock, agents },
    {
      attempt: { id: "invocation-1.1", episode: "episode-1", global_step: 1 },
      rollout: { ...rollout, episodeType: options.type ?? "train" },
      grant: { openai_base_url: "http://engine/v1", openai_api_key: "sk-ajet-secret" },
      controller,
      deadline: 61_000,
      allowUnusualRewards: options.allow ?? false,
      alone: false,
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

describe("an agent whose last model call did not come through", () => {
  const outage = "HTTP 502 of text/html";

  test.each([
    ["its library's error", new Error("502 status code (no body)")],
    ["its own wish for another attempt", Object.assign(new Error("again"), { name: "AgentAbort" })],
  ])("is not blamed for %s", async (_what, thrown) => {
    const { end } = start(() => Promise.reject(thrown), { outage });
    const detail = `a model call did not reach the model: ${outage}`;
    expect(await end).toEqual({ kind: "failed", reason: "engine-unreachable", detail, calls: 0 });
  });

  test("is blamed for what it returns, and for what the model itself answered", async () => {
    expect(await start(() => ({ reward: "none" }), { outage }).end).toMatchObject({
      reason: "invalid-output",
    });
    const thrown = () => Promise.reject(new ModelError("too long", 400));
    expect(await start(thrown, { outage }).end).toMatchObject({ reason: "agent-error" });
  });

  test("and whose episode is over meanwhile ends for that reason", async () => {
    const { end, controller } = start(() => new Promise(() => {}), { outage });
    controller.abort(new AttemptAborted("engine-left-rolling", "the engine is ENGINE.OFFLINE"));
    expect(await end).toMatchObject({ reason: "engine-left-rolling" });
  });
});

describe("an agent that fails", () => {
  class AgentAbort extends Error {
    override readonly name = "AgentAbort";
  }
  const nothing: unknown = Object.create(null);
  const noWords = "an error that cannot be put into words";
  const fail = () => {
    throw new Error("trap");
  };
  const trap = new Proxy({}, { get: fail, getPrototypeOf: fail, has: fail, ownKeys: fail });
  const wordsThatThrow = { name: { get: fail }, message: { get: fail } };
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
    [
      "the error of a call that did not reach the model",
      new ModelError("no choices", 502, undefined, true),
      "engine-unreachable",
      "a model call did not reach the model: no choices",
    ],
    ["AgentAbort", new AgentAbort("bad luck"), "agent-aborted", "AgentAbort: bad luck"],
    [
      "AgentDiscard",
      Object.assign(new Error("no sandbox"), { name: "AgentDiscard" }),
      "agent-discarded",
      "no sandbox",
    ],
    ["a secret", new Error("key sk-ajet-abcdef"), "agent-error", "Error: key sk-***"],
    ["a Proxy that throws when it is looked at", trap, "agent-error", noWords],
    ["an error whose words throw", Object.create(Error.prototype, wordsThatThrow), "agent-error", noWords],
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
      { reward: 1, metadata: { at: new Date(0), gone: undefined, run: () => 1, none: null } },
      { ...full, metadata: { at: "1970-01-01T00:00:00.000Z", none: null } },
    ],
    [
      { reward: 1, metadata: { "\ud800": "\udfff" } },
      { ...full, metadata: { "\ufffd": "\ufffd" } },
    ],
  ])("is taken as JSON will carry it (case %#)", (value, output) => {
    expect(check(value)).toEqual(output);
  });

  test.each([
    [null, "a WorkflowOutput, found null"],
    [undefined, "a WorkflowOutput, found undefined"],
    [1, "a WorkflowOutput, found 1"],
    [[1], "a WorkflowOutput, found [1]"],
    ["done", 'a WorkflowOutput, found "done"'],
    [{ reward: 1, is_success: 1 }, "true, false or null as is_success, found 1"],
    [{ reward: 1, metadata: [] }, "an object as metadata, found []"],
  ])("is refused where the trainer cannot use it (case %#)", (value, fault) => {
    expect(check(value)).toBe(`expected ${fault}`);
  });

  test.each<[unknown, string]>([
    [undefined, "undefined"],
    [null, "null"],
    [[1, 0], "[1, 0]"],
    [[], "[]"],
    [[1, 2, 3, 4, 5, 6, ["deep"]], "[1, 2, 3, 4, 5, …]"],
    ["1", '"1"'],
    ["x".repeat(25), "a text of 25 characters"],
    ["sk-ajet-secret", '"sk-***"'],
    [true, "true"],
    [Number.NaN, "NaN"],
    [Number.POSITIVE_INFINITY, "Infinity"],
    [1n, "1n"],
    [{ value: 1 }, "an object"],
    [() => 1, "a function"],
  ])("needs one number as a train reward, and says what it found: %o", (reward, found) => {
    expect(check({ reward })).toBe(
      `expected a finite number as reward, found ${found}: the trainer loses a slot over it. ` +
        "Return one number, or set allowUnusualRewards to report a list or null",
    );
  });

  test.each<[unknown, string]>([
    ["1", '"1"'],
    [Number.NaN, "NaN"],
    [[1, Number.NaN], "[1, NaN]"],
    [[1, "a"], '[1, "a"]'],
  ])("says so in an eval and where the setting allows more, too: %o", (reward, found) => {
    const message = `expected a finite number, a list of them, or null as reward, found ${found}`;
    expect(check({ reward }, "eval")).toBe(message);
    expect(check({ reward }, "train", true)).toBe(message);
  });

  test("keeps its reward whatever its metrics are: one that cannot be kept is dropped, and named", () => {
    const warnings: unknown[] = [];
    const log_metrics = {
      good: 1,
      list: [1, 2],
      tool_stats: { calls: 3, names: ["add"], inner: { mean: 0.5 } },
      nan: Number.NaN,
      worst: [1, Number.NEGATIVE_INFINITY],
      nested: { inner: [{ mean: Number.POSITIVE_INFINITY }] },
      text: "12",
      mixed: [1, "2"],
      flag: true,
    };
    const output = checkOutput({ reward: 0.5, log_metrics }, "train", false, (...warning) =>
      warnings.push(warning),
    );
    const { good, list, tool_stats } = log_metrics;
    expect(output).toEqual({ ...full, reward: 0.5, log_metrics: { good, list, tool_stats } });
    expect(warnings).toEqual([
      [
        "log_metrics dropped",
        [
          "nan: found NaN",
          "worst: found -Infinity in its list",
          "nested: found Infinity in its object",
          'text: found "12"',
          'mixed: found "2" in its list',
          "flag: found true",
        ],
      ],
    ]);
  });

  test("keeps its reward where its metrics are no object at all", () => {
    const warn = vi.fn();
    expect(checkOutput({ reward: 1, log_metrics: [1] }, "train", false, warn)).toEqual(full);
    expect(warn.mock.calls).toEqual([
      ["log_metrics dropped", ["log_metrics: expected an object, found [1]"]],
    ]);
  });

  test("shows a number in its metadata that JSON cannot carry, instead of null", () => {
    const warn = vi.fn();
    const metadata = { loss: Number.NaN, inner: [{ worst: Number.NEGATIVE_INFINITY }], turns: 2 };
    expect(checkOutput({ reward: 1, metadata }, "train", false, warn)).toEqual({
      ...full,
      metadata: { loss: "NaN", inner: [{ worst: "-Infinity" }], turns: 2 },
    });
    expect(warn.mock.calls).toEqual([["metadata made text", ["loss: found NaN", "inner: found -Infinity"]]]);
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
