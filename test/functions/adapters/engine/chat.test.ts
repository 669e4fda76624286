import { describe, expect, onTestFinished, test } from "vitest";
import { createChat } from "../../../../functions/adapters/engine/chat.ts";
import { FreshDispatcher } from "../../../../functions/adapters/engine/dispatcher.ts";
import { ModelError } from "../../../../functions/core/errors.ts";
import { deadUrl } from "../../../support/engine-that.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { type Respond, sendJson, sendText, serve } from "../../../support/http-server.ts";

const apiKey = "sk-ajet-c2VjcmV0";
const messages = [{ role: "user", content: "2+2?" }];
const completion = (message: object) => ({
  id: "x",
  choices: [{ index: 0, finish_reason: "stop", message }],
  usage: {},
});

async function chatWith(respond: Respond, signal = new AbortController().signal) {
  const server = await serve(respond);
  const dispatcher = new FreshDispatcher();
  onTestFinished(() => dispatcher.destroy());
  onTestFinished(() => server[Symbol.asyncDispose]());
  const clock = new FakeClock();
  const chat = createChat({ baseUrl: `${server.url}/gw/v1`, apiKey, signal, dispatcher, clock });
  return { server, clock, chat };
}

async function failureOf(work: Promise<unknown>): Promise<ModelError> {
  const error = await work.catch((reason: unknown) => reason);
  if (error instanceof ModelError) return error;
  throw new Error(`expected a ModelError, found ${String(error)}`);
}

test("a request goes out with the episode's key, a model's name and no streaming", async () => {
  const { server, chat } = await chatWith((_, response) =>
    sendJson(response, 200, completion({ role: "assistant", content: "4" })),
  );
  const answer = await chat.chat({ messages, temperature: 0.1, stream: true });
  expect(answer).toEqual({ role: "assistant", content: "4" });
  expect(server.received).toMatchObject([
    {
      method: "POST",
      path: "/gw/v1/chat/completions",
      headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
    },
  ]);
  expect(server.received[0]?.json).toEqual({
    model: "reserved_field",
    messages,
    temperature: 0.1,
    stream: false,
  });
});

test("an answer of the real engine loses its nulls and keeps what else it has", async () => {
  const message = { content: null, refusal: null, role: "assistant", tool_calls: null, reasoning: "hm" };
  const { chat } = await chatWith((_, response) => sendJson(response, 200, completion(message)));
  expect(await chat.chat({ messages })).toEqual({
    content: null,
    refusal: null,
    role: "assistant",
    reasoning: "hm",
  });
});

test("tool calls arrive", async () => {
  const tool_calls = [
    { id: "c1", type: "function", function: { name: "calculator", arguments: '{"x":"2+2"}' } },
  ];
  const { chat } = await chatWith((_, response) =>
    sendJson(response, 200, completion({ role: "assistant", content: null, tool_calls })),
  );
  expect((await chat.chat({ messages })).tool_calls).toEqual(tool_calls);
});

test("tool calls arrive in one form, whatever a server leaves out or writes in another way", async () => {
  const tool_calls = [
    { function: { name: "add", arguments: { a: 1 } } },
    { id: null, type: null, function: { name: "now", arguments: null } },
    { id: "c3", function: { name: "say", arguments: '{"a":1}' } },
  ];
  const message = { content: null, tool_calls };
  const { chat } = await chatWith((_, response) => sendJson(response, 200, completion(message)));
  const reply = await chat.chat({ messages });
  expect(reply).toEqual({
    role: "assistant",
    content: null,
    tool_calls: [
      {
        id: expect.stringMatching(/^call_0_/),
        type: "function",
        function: { name: "add", arguments: '{"a":1}' },
      },
      { id: expect.stringMatching(/^call_1_/), type: "function", function: { name: "now", arguments: "{}" } },
      { id: "c3", type: "function", function: { name: "say", arguments: '{"a":1}' } },
    ],
  });
});

test("a tool call that cannot be read is refused by its field", async () => {
  const tool_calls = [{ id: "c1", type: "function", function: { name: "add", arguments: 7 } }];
  const message = { role: "assistant", content: null, tool_calls };
  const { chat } = await chatWith((_, response) => sendJson(response, 200, completion(message)));
  expect((await failureOf(chat.chat({ messages }))).message).toMatch(
    /\(choices\.0\.message\.tool_calls\.0\.function\.arguments: expected a text or an object\)$/,
  );
});

test("a reply tells its finish reason and tokens, and goes back into messages without them", async () => {
  const usage = { prompt_tokens: 9, completion_tokens: 5, total_tokens: 14 };
  const message = { role: "assistant", content: "4" };
  const answers = [
    { choices: [{ message, finish_reason: "length" }], usage },
    { choices: [{ message, finish_reason: 7 }], usage: "none" },
  ];
  const { chat } = await chatWith((_, response) => sendJson(response, 200, answers.shift()));
  const reply = await chat.chat({ messages });
  expect([reply.finish_reason, reply.usage]).toEqual(["length", usage]);
  expect([JSON.stringify(reply), { ...reply }]).toEqual([JSON.stringify(message), message]);
  const other = await chat.chat({ messages });
  expect([other.finish_reason, other.usage]).toEqual([undefined, undefined]);
});

test.for([
  [
    "200 with a refusal inside, as older engines do",
    200,
    { status_code: 401, detail: "Missing authorization header", headers: null },
    "Missing authorization header",
  ],
  ["401", 401, { detail: "Invalid authorization data" }, "Invalid authorization data"],
  ["404", 404, { detail: "Episode ep-1 not found." }, "Episode ep-1 not found."],
  ["200 without a choice in it", 200, { choices: [] }, "choices"],
  ["an error as OpenAI words it", 400, { error: { message: "context too long" } }, "context too long"],
] as const)("an answer without choices is a failure: %s", async ([, status, json, words]) => {
  const { chat } = await chatWith((_, response) => sendJson(response, status, json));
  const error = await failureOf(chat.chat({ messages }));
  expect(error.status).toBe(status);
  expect(error.message).toContain("expected a chat completion with choices, found HTTP");
  expect(error.message).toContain(words);
});

test("a 500 in plain text is a failure in its words, without the key", async () => {
  const { chat } = await chatWith((_, response) =>
    sendText(response, 500, `Internal Server Error ${apiKey}`),
  );
  const error = await failureOf(chat.chat({ messages }));
  expect(error.message).toBe(
    'expected a chat completion with choices, found HTTP 500 with "Internal Server Error sk-***"',
  );
});

test("a broken connection is a failure without a status, and is not tried again", async () => {
  const { chat, server } = await chatWith(({ socket }) => socket.destroy());
  const error = await failureOf(chat.chat({ messages }));
  expect(error.status).toBeUndefined();
  expect(error.message).toContain("expected an answer of the model, found none: UND_ERR_SOCKET");
  expect(server.received).toHaveLength(1);
});

test("the signal cuts off a call that waits, with its own reason", async () => {
  const deadline = new AbortController();
  const { chat } = await chatWith(
    () => deadline.abort(new Error("the episode's time is over")),
    deadline.signal,
  );
  await expect(chat.chat({ messages })).rejects.toThrow("the episode's time is over");
});

test("no call goes out once the signal has fired", async () => {
  const deadline = new AbortController();
  const { chat, server } = await chatWith(() => {}, deadline.signal);
  deadline.abort(new Error("the engine left its rolling states"));
  await expect(chat.chat({ messages })).rejects.toThrow("the engine left its rolling states");
  expect(server.received).toEqual([]);
  expect(chat.calls()).toBe(0);
});

test("calls are counted, answered or not", async () => {
  let answers = 0;
  const { chat } = await chatWith((_, response) => {
    answers += 1;
    if (answers === 1) sendJson(response, 200, completion({ role: "assistant", content: "4" }));
    else sendText(response, 500, "Internal Server Error");
  });
  expect(chat.calls()).toBe(0);
  await chat.chat({ messages });
  await failureOf(chat.chat({ messages }));
  expect(chat.calls()).toBe(2);
});

describe("a call that a proxy answers", () => {
  const good: Respond = (_, response) =>
    sendJson(response, 200, completion({ role: "assistant", content: "4" }));
  const first = (spoil: Respond): Respond => {
    let spoilt = false;
    return (received, response) => {
      if (spoilt) return good(received, response);
      spoilt = true;
      spoil(received, response);
    };
  };
  const turnsAway = (status: number, retryAfter?: string): Respond => {
    const headers = { "content-type": "text/html", ...(retryAfter ? { "retry-after": retryAfter } : {}) };
    return (_, response) => response.writeHead(status, headers).end("<html>slow down</html>");
  };

  test.each([
    ["429", turnsAway(429), 1000],
    ["429 with a time", turnsAway(429, "7"), 7000],
    ["503 with a time", turnsAway(503, "30"), 30_000],
  ])("with %s was not passed on: it is made again, when told", async (_name, respond, pause) => {
    const { chat, server, clock } = await chatWith(first(respond));
    expect(await chat.chat({ messages })).toMatchObject({ content: "4" });
    expect(clock.sleeps).toEqual([pause]);
    expect(server.received).toHaveLength(2);
  });

  test("with 429 all the time is given up within a minute, as an outage", async () => {
    const { chat, clock } = await chatWith(turnsAway(429));
    expect(await failureOf(chat.chat({ messages }))).toMatchObject({ outage: true, status: 429 });
    expect(clock.sleeps).toEqual([1000, 2000, 4000, 8000, 16_000, 16_000]);
  });

  test("with a time beyond that minute is given up at once", async () => {
    const { chat, clock } = await chatWith(turnsAway(429, "600"));
    expect(await failureOf(chat.chat({ messages }))).toMatchObject({ outage: true });
    expect(clock.sleeps).toEqual([]);
  });

  test("is not waited for once the signal has fired", async () => {
    const attempt = new AbortController();
    const { chat, server } = await chatWith((received, response) => {
      turnsAway(429)(received, response);
      attempt.abort(new Error("over"));
    }, attempt.signal);
    await expect(chat.chat({ messages })).rejects.toThrow("over");
    expect(server.received).toHaveLength(1);
  });

  const page = "<html>nginx</html>";
  const replies: [string, number, string, string, boolean][] = [
    ["502", 502, page, "text/html", true],
    ["503 without a time", 503, "busy", "text/plain", true],
    ["504", 504, page, "text/html", true],
    ["a page for 404", 404, page, "text/html", true],
    ["a page for 403", 403, page, "text/html", true],
    ["JSON of its own for 403", 403, '{"message":"Forbidden"}', "application/json", true],
    ["FastAPI's words for 401", 401, '{"detail":"Not authenticated"}', "application/json", true],
    ["no route", 404, '{"detail":"Not Found"}', "application/json", true],
    ["an empty 200", 200, "", "application/json", true],
    ["a page with 200", 200, page, "text/html", true],
    ["JSON of its own with 200", 200, '{"message":"hello"}', "application/json", true],
    ["half an answer", 200, '{"choices":[', "application/json", true],
    ["a redirect", 302, "", "text/html", true],
    ["a gateway's 500", 500, '{"message":"Internal server error"}', "application/json", true],
    ["the engine's 500", 500, "Internal Server Error", "text/plain; charset=utf-8", false],
    ["the engine's 404", 404, '{"detail":"Episode ep-1 not found."}', "application/json", false],
    ["the engine's 401", 401, '{"detail":"Missing authorization header"}', "application/json", false],
    ["the model's 400", 400, '{"error":{"message":"too long"}}', "application/json", false],
    ["an older engine's refusal", 200, '{"status_code":404,"detail":"x"}', "application/json", false],
  ];
  test.each(replies)("or the engine: %s is told apart", async (_name, status, text, type, outage) => {
    const { chat, server } = await chatWith((_, response) => sendText(response, status, text, type));
    expect(await failureOf(chat.chat({ messages }))).toMatchObject({ status, outage });
    expect(server.received).toHaveLength(1);
  });
});

test("a call that finds no connection is made again for a minute, and is an outage", async () => {
  const dispatcher = new FreshDispatcher();
  onTestFinished(() => dispatcher.destroy());
  const clock = new FakeClock();
  const { signal } = new AbortController();
  const chat = createChat({ baseUrl: await deadUrl(), apiKey, signal, dispatcher, clock });
  expect(await failureOf(chat.chat({ messages }))).toMatchObject({ outage: true, status: undefined });
  expect(clock.sleeps).toHaveLength(6);
});
