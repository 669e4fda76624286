import { describe, expect, test, vi } from "vitest";
import { type AgentReply, outcomeOf } from "../../../../functions/core/rollout/agent-answer.ts";

function judge(json: unknown, { status = 200, contentType = "application/json", allow = false } = {}) {
  const log = vi.fn();
  const text = typeof json === "string" ? json : JSON.stringify(json);
  const reply: AgentReply = { status, contentType, text };
  const outcome = outcomeOf(reply, {
    rollout: { episodeType: "train" },
    allowUnusualRewards: allow,
    log,
  });
  return { outcome, log };
}
const failed = (reason: string, detail: unknown) => ({ kind: "failed", reason, detail });

describe("an answer with a reward", () => {
  test.each([
    [{ reward: 0.5 }, 0.5],
    [{ rewards: 0.25 }, 0.25],
    [{ rewards: [0, 0.25, 1] }, 1],
    [{ reward: 1, rewards: [0.5] }, 0.5],
    [{ status_code: 200, rewards: [1] }, 1],
    [{ reward: 1, status_code: null, error: null, error_type: null, traceback: null }, 1],
  ])("%j is worth %d", (json, reward) => {
    expect(judge(json).outcome).toMatchObject({ kind: "output", output: { reward } });
  });

  test("brings what stands beside it", () => {
    const json = {
      rewards: [1],
      is_success: true,
      metrics: { turns: 3 },
      metadata: { answer: "4" },
      other: 1,
    };
    expect(judge(json).outcome).toEqual({
      kind: "output",
      output: { reward: 1, is_success: true, metadata: { answer: "4" }, log_metrics: { turns: 3 } },
    });
  });

  test("keeps it where Python has written NaN beside it, and says what was left out", () => {
    const { outcome, log } = judge(
      '{"reward": 1.0, "metrics": {"loss": NaN, "n": 1}, "metadata": {"is": "NaN"}}',
    );
    expect(outcome).toMatchObject({ output: { reward: 1, log_metrics: { n: 1 }, metadata: { is: "NaN" } } });
    expect(log.mock.calls).toEqual([["warn", "log_metrics dropped", { entries: ['loss: found "NaN"'] }]]);
  });

  test("may be a list where a setting allows it", () => {
    expect(judge({ reward: [1, 0] }, { allow: true }).outcome).toMatchObject({ output: { reward: [1, 0] } });
    expect(judge({ reward: [1, 0] }).outcome).toMatchObject({ kind: "failed", reason: "invalid-output" });
  });
});

describe("an answer that is not the contract's", () => {
  test.each([
    [
      "nothing",
      "",
      "expected a JSON object with `reward` or `rewards`, found HTTP 200 of application/json: nothing",
    ],
    [
      "a page",
      "<html>",
      "expected a JSON object with `reward` or `rewards`, found HTTP 200 of application/json: <html>",
    ],
    [
      "a list",
      [1],
      "expected a JSON object with `reward` or `rewards`, found HTTP 200 of application/json: [1]",
    ],
    [
      "no reward",
      { metadata: {} },
      'expected `reward` or `rewards` in the answer, found the keys ["metadata"]',
    ],
    ["text as reward", { reward: "1" }, 'expected an answer of the contract, found "1" as reward'],
    [
      "text as metrics",
      { reward: 1, metrics: "x" },
      'expected an answer of the contract, found "x" as metrics',
    ],
  ])("(%s) says what was expected and what was found", (_, json, detail) => {
    expect(judge(json).outcome).toEqual(failed("invalid-output", detail));
  });

  test.each([
    [{ rewards: [] }],
    [{ reward: null }],
    [{ rewards: null }],
    ['{"reward": NaN}'],
    ['{"rewards": [1, Infinity]}'],
  ])("%j is no reward of 0", (json) => {
    expect(judge(json).outcome).toMatchObject({ kind: "failed", reason: "invalid-output" });
  });
});

describe("an answer without a reward", () => {
  const key = "sk-ajet-c2VjcmV0LWtleQ==";
  test.each([
    ["discards", { status_code: 409, stop_reason: "sandbox full" }, "agent-discarded", "sandbox full"],
    ["discards without a word", { status_code: 409 }, "agent-discarded", "discarded by the agent"],
    ["failed", { status_code: 500, error: `KeyError: ${key}` }, "agent-error", "KeyError: sk-***"],
    [
      "failed in another way",
      { status_code: 501, reward: 1 },
      "agent-error",
      "the agent failed and said nothing",
    ],
    [
      "model",
      { status_code: 424, error: "no choices", model_status: 400 },
      "model-error",
      "no choices (HTTP 400)",
    ],
    ["model by type", { error_type: "model", status_code: 500, error: "odd" }, "model-error", "odd"],
    [
      "no model",
      { status_code: 424, error: "refused", model_status: 0 },
      "engine-unreachable",
      "a model call did not reach the model: refused",
    ],
    [
      "model behind a proxy that is down",
      { status_code: 424, error: "bad gateway", model_status: 502 },
      "engine-unreachable",
      "a model call did not reach the model: bad gateway",
    ],
  ])("(%s) has its own reason", (_, json, reason, detail) => {
    expect(judge(json).outcome).toEqual(failed(reason, detail));
    // As kit and toolkit send them: with an HTTP status of their own.
    const { status_code: status } = json;
    if (status !== 501) expect(judge(json, { status }).outcome).toEqual(failed(reason, detail));
  });

  test("has its traceback in the log, shortened and without a key", () => {
    const traceback = `${"x".repeat(9000)}\nValueError: ${key}`;
    const { log } = judge({ status_code: 500, error: "ValueError", traceback });
    const [level, message, facts] = log.mock.calls[0] ?? [];
    expect([level, message]).toEqual(["warn", "agent failed"]);
    expect(facts.traceback).toMatch(/^x+\nValueError: sk-\*\*\*$/);
    expect(facts.traceback.length).toBeLessThanOrEqual(8000);
  });

  test("has a message of at most 450 characters", () => {
    const { outcome } = judge({ error: "y".repeat(2000) }, { status: 500 });
    expect(outcome).toEqual(failed("agent-error", "y".repeat(450)));
  });
});

describe("an HTTP status", () => {
  const html = { contentType: "text/html" };
  test.each([
    [400, { error: "expected task.metadata.reference" }, {}, "agent-refused", /^HTTP 400: expected task\./],
    [422, { detail: [{ msg: "Field required" }] }, {}, "agent-refused", /Field required/],
    [404, { error: "expected POST /invocations, found /x" }, {}, "agent-refused", /^HTTP 404: expected POST/],
    [
      404,
      "Not Found",
      { contentType: "text/plain" },
      "agent-unreachable",
      /HTTP 404 of text\/plain: Not Found$/,
    ],
    [400, "<html>", html, "agent-unreachable", /HTTP 400 of text\/html/],
    [401, { detail: "no token" }, {}, "agent-unreachable", /HTTP 401/],
    [403, { message: "Forbidden" }, {}, "agent-unreachable", /HTTP 403/],
    [302, "", {}, "agent-unreachable", /HTTP 302/],
    [500, { error: "division by zero" }, {}, "agent-error", /^division by zero$/],
    [
      500,
      "Internal Server Error",
      { contentType: "text/plain" },
      "agent-error",
      /^HTTP 500 of text\/plain: Internal/,
    ],
    [500, "<html>", html, "agent-unreachable", /HTTP 500 of text\/html/],
    [502, "", {}, "agent-unreachable", /HTTP 502/],
    [503, { error: "Service Unavailable" }, {}, "agent-unreachable", /HTTP 503/],
    [504, "upstream timed out", { contentType: "text/plain" }, "agent-unreachable", /HTTP 504/],
  ])("%d with %j is told apart", (status, json, options, reason, detail) => {
    expect(judge(json, { status, ...options }).outcome).toEqual(
      failed(reason, expect.stringMatching(detail)),
    );
  });
});
