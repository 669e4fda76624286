import { describe, expect, test } from "vitest";
import { Conversation, MOST_CHARACTERS } from "../../../../functions/core/transcript/conversation.ts";
import type { RecordedCall } from "../../../../functions/core/transcript/recorded-call.ts";

type Message = Readonly<Record<string, unknown>>;
const user = (content: string): Message => ({ role: "user", content });
const tool = (id: string, content: string): Message => ({ role: "tool", tool_call_id: id, content });
const says = (content: string, ...calls: Message[]): Message => ({
  role: "assistant",
  content,
  ...(calls.length > 0 ? { tool_calls: calls } : {}),
});
const calling = (id: string | undefined, name: string, given: string): Message => ({
  ...(id === undefined ? {} : { id }),
  type: "function",
  function: { name, arguments: given },
});

function call(messages: readonly Message[], reply?: Message, more: Partial<RecordedCall> = {}): RecordedCall {
  const answer = reply && { choices: [{ message: reply, finish_reason: "stop" }] };
  return {
    at: 1_777_888_800_000,
    ms: 250,
    path: "/v1/chat/completions",
    status: 200,
    contentType: "application/json",
    request: JSON.stringify({ messages }),
    response: answer ? JSON.stringify(answer) : "",
    ...more,
  };
}

function stepsOf(...calls: RecordedCall[]) {
  const conversation = new Conversation();
  for (const one of calls) conversation.add(one);
  return conversation.steps();
}

describe("calls that go on from one another", () => {
  test("are one conversation, in which each message stands once and a tool's answer at its call", () => {
    const asked = user("What is 7 * 6?");
    const first = says("", calling("c1", "multiply", '{"a":7,"b":6}'));
    const steps = stepsOf(
      call([asked], first),
      call([asked, first, tool("c1", "42")], says("It is 42.")),
      call([asked, first, tool("c1", "42"), says("It is 42."), user("Sure?")], says("Yes.")),
    );
    expect(steps.map(({ step_id, source, message }) => [step_id, source, message])).toEqual([
      [1, "user", "What is 7 * 6?"],
      [2, "agent", ""],
      [3, "agent", "It is 42."],
      [4, "user", "Sure?"],
      [5, "agent", "Yes."],
    ]);
    expect(steps[1]).toMatchObject({
      tool_calls: [{ tool_call_id: "c1", function_name: "multiply", arguments: { a: 7, b: 6 } }],
      observation: { results: [{ source_call_id: "c1", content: "42" }] },
    });
    expect(steps.some(({ extra }) => extra?.["branch"] !== undefined)).toBe(false);
  });

  test("know the model's message again without its reasoning, its ids, and white space around it", () => {
    const reply = { ...says("42 "), reasoning_content: "7 times 6" };
    const steps = stepsOf(
      call([user("?")], reply),
      call([user("?"), says("42"), user("Sure?")], says("Yes.")),
    );
    expect(steps).toHaveLength(4);
    expect(steps[1]).toMatchObject({ message: "42 ", reasoning_content: "7 times 6" });
  });
});

describe("calls that do not", () => {
  test("are marked where they leave the conversation: another sample, and a new one", () => {
    const steps = stepsOf(
      call([user("?")], says("a")),
      call([user("?")], says("b")),
      call([user("another")], says("c")),
    );
    expect(steps.map(({ message, extra }) => [message, extra?.["branch"]])).toEqual([
      ["?", undefined],
      ["a", undefined],
      ["b", "goes on after 1 of 2 messages"],
      ["another", "goes on after 0 of 2 messages"],
      ["c", undefined],
    ]);
  });

  test("tell what an agent put into the model's mouth from what the model said", () => {
    const [, example, , reply] = stepsOf(call([user("1?"), says("one"), user("2?")], says("two")));
    expect(example).toMatchObject({ source: "agent", message: "one", llm_call_count: 0 });
    expect(example).not.toHaveProperty("metrics");
    expect(reply).toMatchObject({ source: "agent", message: "two", llm_call_count: 1 });
  });
});

describe("what does not fit the format", () => {
  test("is kept beside it: arguments that are no object, a call without an id, an answer without a call", () => {
    const reply = says("", calling(undefined, "add", "[1, 2]"), calling("c2", "add", "{broken"));
    const steps = stepsOf(call([user("?")], reply), call([user("?"), reply, tool("c9", "3")], says("3")));
    expect(steps[1]?.tool_calls).toEqual([
      { tool_call_id: "2.1", function_name: "add", arguments: {}, extra: { arguments: "[1, 2]" } },
      { tool_call_id: "c2", function_name: "add", arguments: {}, extra: { arguments: "{broken" } },
    ]);
    expect(steps[2]).toMatchObject({ source: "user", message: "3", extra: { role: "tool" } });
  });

  test("is told in words: a call that broke, one that was refused, one for embeddings, an image", () => {
    const image = {
      role: "user",
      content: [
        { type: "text", text: "What is it?" },
        { type: "image_url", image_url: { url: "data:…" } },
      ],
    };
    const broken = { error: "SocketError: other side closed" };
    const steps = stepsOf(
      call([image], undefined, broken),
      call([image], undefined, { status: 429, response: "slow down" }),
      call([], undefined, { path: "/v1/embeddings", response: "{}" }),
    );
    expect(steps.map(({ message }) => message)).toEqual([
      "What is it?\n[image_url, 49 characters]",
      "The model call failed: SocketError: other side closed",
      "The model call failed: HTTP 429, slow down",
      "The agent called /v1/embeddings.",
    ]);
  });

  test("is left out and counted where it is too much", () => {
    const conversation = new Conversation();
    conversation.add(call([user("x".repeat(MOST_CHARACTERS - 10))], says("fits")));
    conversation.add(call([user("y".repeat(100))], says("too")));
    expect(conversation.steps().map(({ message }) => message.slice(0, 4))).toEqual(["xxxx", "fits"]);
    expect([conversation.lost, conversation.calls]).toEqual([2, 2]);
  });

  test("is no reason to fail: bodies that are no JSON, or of another shape", () => {
    const odd = [
      "",
      "no",
      "[]",
      "null",
      '{"choices":7}',
      '{"choices":[{"message":7}]}',
      '{"messages":[1,null]}',
    ];
    for (const request of odd)
      for (const response of odd)
        for (const path of ["/v1/chat/completions", "/v1/responses", "/v1/messages", "/v1/completions"])
          for (const contentType of ["application/json", "text/event-stream"])
            expect(() =>
              stepsOf(call([], undefined, { request, response, path, contentType })),
            ).not.toThrow();
  });
});
