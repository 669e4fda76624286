/** A transcript of each way of calling the model: whichever library, API and form of the answer. */
import { gzipSync } from "node:zlib";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Agent, AgentEpisode } from "../../agents/agent.ts";
import { createChat, installFetch } from "../../functions/adapters/engine/index.ts";
import { decodeMessage } from "../../functions/core/rollout/message.ts";
import { agentsHere } from "../../functions/core/rollout/perform-agent.ts";
import { AttemptRecord, transcriptText } from "../../functions/core/transcript/attempt-record.ts";
import { transcriptSchema } from "../../functions/core/transcript/transcript.ts";
import { systemClock as clock } from "../../functions/system-clock.ts";
import { atifFaults } from "../support/atif.ts";
import { type Received, serve, type TestServer } from "../support/http-server.ts";

const KEY = "sk-ajet-c2VjcmV0+/=";
const SAID = "2 + 2 is 4";

type Event = Readonly<Record<string, unknown>>;
const chatUsage = { prompt_tokens: 9, completion_tokens: 5, total_tokens: 14 };
const chatEvents: Event[] = [
  { model: "m", choices: [{ index: 0, delta: { role: "assistant", content: "2 + 2" } }] },
  { model: "m", choices: [{ index: 0, delta: { content: " is 4" } }] },
  { model: "m", choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
  { model: "m", choices: [], usage: chatUsage },
];
const output = [
  { type: "message", role: "assistant", content: [{ type: "output_text", text: SAID, annotations: [] }] },
];
const response = {
  id: "r",
  object: "response",
  model: "m",
  status: "completed",
  output,
  usage: { input_tokens: 9, output_tokens: 5 },
};
const responseEvents: Event[] = [
  { type: "response.created", response: { ...response, output: [], status: "in_progress" } },
  { type: "response.output_text.delta", delta: SAID, output_index: 0, content_index: 0, item_id: "i" },
  { type: "response.output_item.done", output_index: 0, item: output[0] },
  { type: "response.completed", response },
];
const message = {
  id: "x",
  type: "message",
  role: "assistant",
  model: "m",
  stop_reason: "stop",
  usage: { input_tokens: 9, output_tokens: 5 },
};
const messageEvents: Event[] = [
  {
    type: "message_start",
    message: { ...message, content: [], usage: { input_tokens: 9, output_tokens: 1 } },
  },
  { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
  { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: SAID } },
  { type: "content_block_stop", index: 0 },
  { type: "message_delta", delta: { stop_reason: "stop" }, usage: { output_tokens: 5 } },
  { type: "message_stop" },
];
const answers: Readonly<Record<string, { whole: Event; events: Event[] }>> = {
  "/v1/chat/completions": {
    whole: {
      model: "m",
      choices: [{ index: 0, message: { role: "assistant", content: SAID }, finish_reason: "stop" }],
      usage: chatUsage,
    },
    events: chatEvents,
  },
  "/v1/responses": { whole: response, events: responseEvents },
  "/v1/messages": { whole: { ...message, content: [{ type: "text", text: SAID }] }, events: messageEvents },
};

let server: TestServer;
beforeAll(async () => {
  installFetch();
  server = await serve(({ path, json, headers }: Received, reply) => {
    const answer = answers[path];
    if (!answer) return reply.writeHead(404).end();
    if ((json as Event)["stream"]) {
      reply.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" });
      for (const event of answer.events)
        reply.write(`event: ${event["type"]}\ndata: ${JSON.stringify(event)}\n\n`);
      return reply.end(path === "/v1/messages" ? "" : "data: [DONE]\n\n");
    }
    const body = Buffer.from(JSON.stringify(answer.whole));
    const zipped = String(headers["accept-encoding"]).includes("gzip");
    reply.writeHead(200, {
      "content-type": "application/json",
      ...(zipped ? { "content-encoding": "gzip" } : {}),
    });
    return reply.end(zipped ? gzipSync(body) : body);
  });
});
afterAll(async () => await server[Symbol.asyncDispose]());

const asked = [
  { role: "system" as const, content: "Be short." },
  { role: "user" as const, content: "What is 2 + 2?" },
];
const [, question] = asked;
const request = { model: "any", messages: asked };
const forMessages = {
  model: "any",
  max_tokens: 99,
  system: "Be short.",
  messages: question ? [question as { role: "user"; content: string }] : [],
};
const forResponses = { model: "any", instructions: "Be short.", input: "What is 2 + 2?" };

async function post({ baseUrl, apiKey, signal }: AgentEpisode, route: string, body: object): Promise<void> {
  const answer = await fetch(`${baseUrl}/${route}`, {
    method: "POST",
    headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
    body: JSON.stringify(body),
    signal,
  });
  await answer.text();
}
const openai = ({ baseUrl, apiKey }: AgentEpisode) => new OpenAI({ baseURL: baseUrl, apiKey, maxRetries: 0 });
const anthropic = ({ baseUrl, apiKey }: AgentEpisode) =>
  new Anthropic({ baseURL: baseUrl.replace(/\/v1$/, ""), apiKey, maxRetries: 0 });

const ways: Readonly<Record<string, (episode: AgentEpisode) => Promise<unknown>>> = {
  "episode.chat": async (episode) => await episode.chat({ messages: asked }),
  "fetch, /chat/completions": async (episode) => await post(episode, "chat/completions", request),
  "fetch, /chat/completions, streamed": async (episode) =>
    await post(episode, "chat/completions", { ...request, stream: true }),
  "fetch, /responses": async (episode) => await post(episode, "responses", forResponses),
  "fetch, /responses, streamed": async (episode) =>
    await post(episode, "responses", { ...forResponses, stream: true }),
  "fetch, /messages": async (episode) => await post(episode, "messages", forMessages),
  "fetch, /messages, streamed": async (episode) =>
    await post(episode, "messages", { ...forMessages, stream: true }),
  "openai, chat.completions": async (episode) => await openai(episode).chat.completions.create(request),
  "openai, chat.completions, streamed": async (episode) =>
    await drained(await openai(episode).chat.completions.create({ ...request, stream: true })),
  "openai, responses": async (episode) => await openai(episode).responses.create(forResponses),
  "openai, responses, streamed": async (episode) =>
    await drained(await openai(episode).responses.create({ ...forResponses, stream: true })),
  "anthropic, messages": async (episode) => await anthropic(episode).messages.create(forMessages),
  "anthropic, messages, streamed": async (episode) =>
    await drained(await anthropic(episode).messages.create({ ...forMessages, stream: true })),
};

async function drained(stream: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of stream);
}

const facts = {
  fleet: "main",
  rollout: "run/r/train/0/task-1",
  run: "r",
  task_id: "task-1",
  repeat: 0,
  episode_type: "train",
  attempt: "invocation.1",
  episode: "episode-1",
  global_step: 3,
  claimed_at: "2026-05-04T10:00:00.000Z",
  ended_at: "2026-05-04T10:00:01.000Z",
  reason: "ended",
  reward: 1,
};

async function transcriptOf(agent: Agent) {
  const record = new AttemptRecord();
  const agents = agentsHere(agent, (grant) => createChat({ ...grant, clock }));
  const { outcome } = agents.start({
    rollout: decodeMessage(
      JSON.stringify({ task: { task_id: "task-1", main_query: "What is 2 + 2?" }, run: "r" }),
      "m",
    ),
    grant: { openai_base_url: `${server.url}/v1`, openai_api_key: KEY },
    signal: new AbortController().signal,
    deadline: clock.now() + 60_000,
    allowUnusualRewards: false,
    alone: false,
    log: (level, words, more) => record.log(clock.now(), level, words, more),
    record: record.call,
  });
  const end = await outcome;
  const text = transcriptText(record.transcript(facts, "What is 2 + 2?"), KEY);
  const document: unknown = JSON.parse(text);
  return { end, text, document, transcript: transcriptSchema.parse(document) };
}

describe("a transcript of", () => {
  test.each(Object.entries(ways))("%s holds what was said, and is a trajectory", async (_, way) => {
    const { end, text, document, transcript } = await transcriptOf(async (_task, episode) => {
      episode.log("asking", { key: episode.apiKey });
      await way(episode);
      return { reward: 1 };
    });
    expect(end).toMatchObject({ kind: "output" });
    expect(atifFaults(document)).toEqual([]);
    expect(transcript.steps.map(({ source, message: words }) => [source, words])).toEqual([
      ["system", "Be short."],
      ["user", "What is 2 + 2?"],
      ["agent", SAID],
    ]);
    expect(transcript.steps.at(-1)).toMatchObject({ model_name: "m", llm_call_count: 1 });
    expect(transcript.steps.at(-1)?.extra?.["finish_reason"]).toMatch(/^(stop|completed)$/);
    expect(transcript.steps.at(-1)?.metrics).toMatchObject({ prompt_tokens: 9, completion_tokens: 5 });
    expect(transcript.final_metrics).toMatchObject({
      total_prompt_tokens: 9,
      total_completion_tokens: 5,
      total_steps: 3,
    });
    expect(transcript.extra.log).toMatchObject([
      { level: "info", message: "asking", facts: { key: "sk-***" } },
    ]);
    expect(text).not.toContain("c2VjcmV0");
  });

  test("a call that is refused says so, with what was asked", async () => {
    const { document, transcript } = await transcriptOf(async (_task, episode) => {
      await post(episode, "nowhere/chat/completions", request);
      return { reward: 0 };
    });
    expect(atifFaults(document)).toEqual([]);
    expect(transcript.steps.map(({ message: words }) => words)).toEqual([
      "Be short.",
      "What is 2 + 2?",
      "The model call failed: HTTP 404",
    ]);
    expect(transcript.steps.at(-1)?.extra).toMatchObject({ error: "HTTP 404", status: 404 });
  });

  test("an agent that makes no call has what its task asks", async () => {
    const { document, transcript } = await transcriptOf(async () => ({ reward: 0 }));
    expect(atifFaults(document)).toEqual([]);
    expect(transcript.steps).toEqual([{ step_id: 1, source: "user", message: "What is 2 + 2?" }]);
  });
});
