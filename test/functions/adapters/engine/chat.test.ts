import { expect, onTestFinished, test } from "vitest";
import { createChat } from "../../../../functions/adapters/engine/chat.ts";
import { FreshDispatcher } from "../../../../functions/adapters/engine/dispatcher.ts";
import { ModelError } from "../../../../functions/core/errors.ts";
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
  return { server, chat: createChat({ baseUrl: `${server.url}/gw/v1`, apiKey, signal, dispatcher }) };
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
