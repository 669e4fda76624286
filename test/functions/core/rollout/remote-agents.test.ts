import { describe, expect, test, vi } from "vitest";
import { invocationSchema } from "../../../../functions/contract/agent-invocation.ts";
import { AttemptAborted } from "../../../../functions/core/rollout/agent.ts";
import type { AgentReply } from "../../../../functions/core/rollout/agent-answer.ts";
import { invocationOf, sessionId } from "../../../../functions/core/rollout/agent-request.ts";
import { decodeMessage } from "../../../../functions/core/rollout/message.ts";
import { activityAtEngine } from "../../../../functions/core/rollout/model-activity.ts";
import {
  AgentCallError,
  type AgentCaller,
  remoteAgents,
} from "../../../../functions/core/rollout/remote-agents.ts";
import { boundedReason } from "../../../../functions/core/rollout/transitions.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

const KEY = "secret-of-another-shape";
const metadata = { answer: "4", prompt: "mine", task: "mine", _rollout: "mine" };
const message = JSON.stringify({ task: { task_id: "t", main_query: "2+2?", metadata }, run: "r1" });

function work(controller = new AbortController()) {
  const log = vi.fn();
  return {
    rollout: decodeMessage(message, "m"),
    attempt: { id: "invocation-1.1", episode: "episode-1", global_step: 7 },
    grant: { openai_base_url: "http://engine/v1", openai_api_key: KEY },
    signal: controller.signal,
    deadline: 601_000,
    allowUnusualRewards: false,
    alone: false,
    log,
  };
}

/** Answers with each in turn. */
function answering(...answers: (Partial<AgentReply> | Error)[]) {
  const call = vi.fn<AgentCaller["call"]>(async () => {
    const next = answers.shift() ?? new Error("asked once too often");
    if (next instanceof Error) throw next;
    return { status: 200, contentType: "application/json", text: '{"reward":1}', ...next };
  });
  const over = vi.fn(async () => undefined);
  return { call, over };
}

async function outcome(...answers: (Partial<AgentReply> | Error)[]) {
  const clock = new FakeClock(1000);
  const caller = answering(...answers);
  const running = remoteAgents(caller, clock).start(work());
  return { outcome: await running.outcome, clock, running, ...caller };
}

describe("a request", () => {
  test("is the contract's, with the task's metadata beside it, and what would clash in the task alone", () => {
    const body = invocationOf(work());
    expect(invocationSchema.parse(body)).toEqual(body);
    expect(body).toEqual({
      answer: "4",
      prompt: "2+2?",
      task: { task_id: "t", main_query: "2+2?", init_messages: [], env_type: "", metadata },
      _rollout: {
        base_url: "http://engine/v1",
        api_key: KEY,
        model_id: "default",
        exp_id: "r1",
        input_id: "t",
        sampling_params: {},
        sortie: {
          version: 1,
          attempt: "invocation-1.1",
          rollout: "run/r1/train/0/t",
          deadline: 601,
          episode_uuid: "episode-1",
          global_step: 7,
          episode_type: "train",
        },
      },
    });
  });

  test.each([
    ["a.1", /^a-1[-0]{30}$/],
    ["0198c5b4-8d1f-7c11-9a2e-6a1d3f0e5c77.12", /^0198c5b4-8d1f-7c11-9a2e-6a1d3f0e5c77-12$/],
    ["x".repeat(300), /^x{256}$/],
  ])("names its session after the attempt %s, in 33 to 256 characters", (attempt, name) => {
    expect(sessionId(attempt)).toMatch(name);
    expect(sessionId(attempt).length).toBeGreaterThanOrEqual(33);
  });
});

describe("a call", () => {
  test("ends with the answer's outcome; its model calls are not seen, and its session is told that it is over", async () => {
    const { outcome: end, running, over, call } = await outcome({});
    expect(end).toMatchObject({ kind: "output", output: { reward: 1 } });
    expect([running.calls(), running.lastCallAt()]).toEqual([undefined, undefined]);
    expect(over.mock.calls).toEqual([[sessionId("invocation-1.1")]]);
    expect(call).toHaveBeenCalledOnce();
  });

  test.each([
    ["unreachable", "agent-unreachable"],
    ["lost", "agent-lost"],
    ["refused", "agent-refused"],
    ["failed", "agent-error"],
    ["deadline", "deadline"],
  ] as const)("that is %s is not repeated, and ends as %s", async (failure, reason) => {
    const { outcome: end, call, over } = await outcome(new AgentCallError(failure, "the words"));
    expect(end).toEqual({ kind: "failed", reason, detail: "the words" });
    expect([call.mock.calls.length, over.mock.calls.length]).toEqual([1, 1]);
  });

  test("waits for a busy agent, as long as it asks for", async () => {
    const busy = () => new AgentCallError("busy", "busy", 7000);
    const { outcome: end, clock } = await outcome(busy(), new AgentCallError("busy", "busy"), {});
    expect(end).toMatchObject({ kind: "output" });
    expect(clock.now() - 1000).toBe(7000 + 4000);
  });

  test("gives the episode back after a minute of that", async () => {
    const busy = Array.from({ length: 20 }, () => new AgentCallError("busy", "no room"));
    const { outcome: end, clock } = await outcome(...busy);
    expect(end).toEqual({ kind: "failed", reason: "agent-busy", detail: "no room" });
    expect(clock.now() - 1000).toBeLessThanOrEqual(60_000);
  });

  test("whose attempt is over says why, whatever broke because of it", async () => {
    const controller = new AbortController();
    const call = () => {
      controller.abort(new AttemptAborted("straggler", "too slow"));
      return Promise.reject(new Error("socket closed"));
    };
    const running = remoteAgents({ call }, new FakeClock(1000)).start(work(controller));
    expect(await running.outcome).toEqual({ kind: "failed", reason: "straggler", detail: "too slow" });
  });

  test("never shows the key, also where the agent says it", async () => {
    const { outcome: end } = await outcome({
      status: 500,
      text: JSON.stringify({ error: `bad key ${KEY}` }),
    });
    expect(end).toEqual({ kind: "failed", reason: "agent-error", detail: "bad key ***" });
  });
});

describe("what costs nothing is bounded", () => {
  test.each([
    ["agent-discarded", { discards: 9 }, "agent-discarded"],
    ["agent-discarded", { discards: 10 }, "agent-aborted"],
    ["agent-lost", { losses: 1 }, "agent-lost"],
    ["agent-lost", { losses: 2 }, "agent-error"],
    ["agent-unreachable", { losses: 99, discards: 99 }, "agent-unreachable"],
  ] as const)("%s after %j is %s", (reason, item, expected) => {
    expect(boundedReason(item, reason, { maxDiscards: 10 })).toBe(expected);
  });
});

describe("model calls that are not seen from here", () => {
  const episode = (llm_call_count: string | number, time_since_last_activity: string) => ({
    running_episode_details: {
      e: {
        llm_call_count,
        time_since_last_activity,
        episode_status: "claimed",
        discard_episode_timeout: "240.0s",
        client_uuid: "c",
      },
    },
  });
  test.each([
    [episode("3", "12.5s"), { calls: 3, lastCallAt: 87_500 }],
    [episode(0, "12.5s"), { calls: 0, lastCallAt: undefined }],
    [episode("2", "a while"), { calls: 2, lastCallAt: undefined }],
    [episode("", "1.0s"), { calls: undefined, lastCallAt: 99_000 }],
    [{ running_episode_details: null }, { calls: undefined, lastCallAt: undefined }],
    [{ running_episode_details: {} }, { calls: undefined, lastCallAt: undefined }],
  ])("%j", async (pool, expected) => {
    const ports = {
      engine: { pool: async () => pool as never },
      clock: new FakeClock(100_000),
      log: vi.fn(),
    };
    expect(await activityAtEngine(ports, "e")).toEqual(expected);
  });

  test("are unknown where the engine does not answer", async () => {
    const engine = { pool: () => Promise.reject(new Error("gone")) };
    const ports = { engine, clock: new FakeClock(1), log: vi.fn() };
    expect(await activityAtEngine(ports, "e")).toEqual({ calls: undefined, lastCallAt: undefined });
    expect(ports.log).toHaveBeenCalledOnce();
  });
});
