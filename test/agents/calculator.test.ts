import { describe, expect, test } from "vitest";
import agent, { TURN_LIMIT } from "../../agents/calculator.ts";
import type { ChatMessage } from "../../functions/contract/agent.ts";
import { calls, makeTask, says, scripted } from "./episode.ts";

const expression = (text: string) => JSON.stringify({ expression: text });

test("the model calls the calculator, sees the result and answers", async () => {
  const episode = scripted([calls({ arguments: expression("6 * 7"), id: "c1" }), says("\\boxed{42}")]);
  const output = await agent(makeTask(), episode);
  expect(output).toEqual({
    reward: 1,
    is_success: true,
    metadata: { answer: "42", expected: "42" },
    log_metrics: { answered: 1, turns: 2, tool_calls: 1, tool_errors: 0, turn_limit: 0 },
  });
  expect(episode.requests[1]?.messages.slice(2)).toEqual([
    calls({ arguments: expression("6 * 7"), id: "c1" }),
    { role: "tool", tool_call_id: "c1", content: "42" },
  ]);
});

test("every request offers the tool", async () => {
  const episode = scripted([calls({ arguments: expression("1") }), says("\\boxed{42}")]);
  await agent(makeTask(), episode);
  expect(episode.requests.map(({ tools }) => tools)).toEqual(
    Array(2).fill([expect.objectContaining({ function: expect.objectContaining({ name: "calculator" }) })]),
  );
});

test("several calls of one turn are answered in order", async () => {
  const both = calls(
    { id: "a", arguments: expression("1 + 1") },
    { id: "b", arguments: expression("2 / 8") },
  );
  const episode = scripted([both, says("\\boxed{42}")]);
  await agent(makeTask(), episode);
  expect(episode.requests[1]?.messages.slice(3)).toEqual([
    { role: "tool", tool_call_id: "a", content: "2" },
    { role: "tool", tool_call_id: "b", content: "0.25" },
  ]);
});

test("a reply without a call is graded at once", async () => {
  const episode = scripted([says("\\boxed{41}")]);
  expect(await agent(makeTask(), episode)).toMatchObject({
    reward: 0,
    log_metrics: { turns: 1, tool_calls: 0 },
  });
});

describe("a call that cannot be served is answered to the model", () => {
  test.each<[string, ChatMessage, string, string]>([
    [
      "bad JSON",
      calls({ arguments: '{"expression": "6' }),
      "{}",
      'Error: expected arguments {"expression": "<text>"}, found "{\\"',
    ],
    ["no object", calls({ arguments: "[1]" }), "{}", "Error: expected arguments"],
    ["no expression", calls({ arguments: '{"x":1}' }), '{"x":1}', "Error: expected arguments"],
    [
      "a number for an expression",
      calls({ arguments: '{"expression":42}' }),
      '{"expression":42}',
      "Error: expected arguments",
    ],
    [
      "an unknown tool",
      calls({ name: "search", arguments: "{}" }),
      "{}",
      'Error: expected the tool "calculator", found "search"',
    ],
    [
      "bad arithmetic",
      calls({ arguments: expression("6 *") }),
      expression("6 *"),
      "Error: expected a number, found the end",
    ],
    [
      "division by zero",
      calls({ arguments: expression("1/0") }),
      expression("1/0"),
      "Error: division by zero",
    ],
  ])("%s", async (_, reply, kept, message) => {
    const episode = scripted([reply, says("\\boxed{42}")]);
    const output = await agent(makeTask(), episode);
    expect(output).toMatchObject({ reward: 1, log_metrics: { tool_calls: 1, tool_errors: 1 } });
    const [turn, result] = episode.requests[1]?.messages.slice(2) ?? [];
    expect(turn?.tool_calls?.[0]?.function.arguments).toBe(kept);
    expect(result).toMatchObject({ role: "tool", tool_call_id: "call-1" });
    expect(result?.content).toContain(message);
  });

  test.each<[string, unknown]>([
    ["null", null],
    ["a text", "calculator"],
    ["an empty object", {}],
    ["no function", { id: "call_0", type: "function" }],
    ["a function without a name", { id: "call_0", function: { arguments: "{}" } }],
  ])("a call that is %s", async (_, call) => {
    const odd = { role: "assistant", content: null, tool_calls: [call] } as unknown as ChatMessage;
    const episode = scripted([odd, says("\\boxed{42}")]);
    expect(await agent(makeTask(), episode)).toMatchObject({ reward: 1, log_metrics: { tool_errors: 1 } });
    expect(episode.requests[1]?.messages.slice(2)).toEqual([
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: "call_0", type: "function", function: { name: "unknown", arguments: "{}" } }],
      },
      {
        role: "tool",
        tool_call_id: "call_0",
        content: 'Error: expected the tool "calculator", found nothing',
      },
    ]);
  });

  test("arguments that come as an object are taken as they are", async () => {
    const call = {
      id: "c1",
      type: "function",
      function: { name: "calculator", arguments: { expression: "6*7" } },
    };
    const odd = { role: "assistant", tool_calls: [call] } as unknown as ChatMessage;
    const episode = scripted([odd, says("\\boxed{42}")]);
    await agent(makeTask(), episode);
    expect(episode.requests[1]?.messages[3]).toEqual({ role: "tool", tool_call_id: "c1", content: "42" });
  });
});

test("a model that never stops calling is graded on its last reply, at the turn limit", async () => {
  const episode = scripted(Array(TURN_LIMIT + 1).fill(calls({ arguments: expression("6 * 7") })));
  expect(await agent(makeTask(), episode)).toEqual({
    reward: 0,
    is_success: false,
    metadata: { answer: null, expected: "42" },
    log_metrics: { answered: 0, turns: TURN_LIMIT, tool_calls: TURN_LIMIT, tool_errors: 0, turn_limit: 1 },
  });
  expect(episode.requests).toHaveLength(TURN_LIMIT);
});

test("an answer in the last turn that is allowed counts", async () => {
  const turns = Array(TURN_LIMIT - 1).fill(calls({ arguments: expression("6 * 7") }));
  const output = await agent(makeTask(), scripted([...turns, says("\\boxed{42}")]));
  expect(output).toMatchObject({ reward: 1, log_metrics: { turns: TURN_LIMIT, turn_limit: 0 } });
});

test("the model is not asked again once the signal has fired, and the reason comes out", async () => {
  const lost = new Error("episode lost");
  const episode = scripted([
    () => {
      episode.abort(lost);
      return calls({ arguments: expression("6 * 7") });
    },
    says("\\boxed{42}"),
  ]);
  await expect(agent(makeTask(), episode)).rejects.toBe(lost);
  expect(episode.requests).toHaveLength(1);
});

test("a task without a reference throws before the model is asked", async () => {
  const episode = scripted([says("\\boxed{42}")]);
  await expect(agent(makeTask({ metadata: {} }), episode)).rejects.toThrow("expected metadata.answer");
  expect(episode.requests).toEqual([]);
});
