/** The routes to the model, in both published versions. Both let refused calls reach it. */
import type { ChatMessage, ChatRequest } from "../../functions/contract/agent.ts";
import { type Answer, ok, Refusal } from "./answers.ts";
import { type Completion, completionOf } from "./completion.ts";
import type { ModelReply } from "./config.ts";
import { type DialectName, dialects } from "./dialects.ts";
import type { EngineState } from "./engine.ts";
import { episodeOfKey, KeyFault } from "./key.ts";
import { parseJson } from "./python.ts";
import { timedOut, within } from "./timing.ts";
import { isObject } from "./validation.ts";

/** The engine looks at its status and at the episode this often while the model works, s. */
const POLL = 6;
/** The older route gives up after 300 s, the newer one after 20 minutes. */
const POLLS = { older: 50, newer: 200 };
const KEEPALIVE = 5;
const systemMessage: ChatMessage = {
  role: "system",
  content: "You are a helpful assistant, your name is AgentJet.",
};

export async function chat(
  engine: EngineState,
  authorization: string | undefined,
  body: string,
  spoken: DialectName = "chat/completions",
): Promise<Answer> {
  const dialect = dialects[spoken];
  const isNewer = engine.config.chatRoute === "newer";
  let episodeUuid: string;
  try {
    episodeUuid = episodeOfKey(authorization);
  } catch (error) {
    if (!(error instanceof KeyFault)) throw error;
    if (isNewer) throw new Refusal(401, error.message);
    // The older route returns its exception instead of raising it.
    return ok({ status_code: 401, detail: error.message, headers: null });
  }
  const asked = parseJson(body);
  const request = requestOf(isObject(asked) ? dialect.request(asked) : asked, isNewer);
  const reply = send(engine, episodeUuid, request);
  const completion = answerOf(engine, episodeUuid, reply).then((model) => {
    const { config, clock } = engine;
    const answer = completionOf(model, engine.newUuid().replaceAll("-", ""), config.modelName, clock.now());
    engine.latestCall = { input: asked, output: answer };
    return answer;
  });
  const id = engine.newUuid().replaceAll("-", "").slice(0, 24);
  const named = { model: String(request["model"] ?? "unknown_model"), countsTokens: isNewer, id };
  if (!isStreamed(asked)) return ok(dialect.answer(await completion, named));
  const words = (whole: Completion) => dialect.events(whole, named);
  if (isNewer) return { status: 200, events: keptAlive(engine, completion, words) };
  return { status: 200, events: readily(words(await completion)) };
}

function isStreamed(asked: unknown): boolean {
  return isObject(asked) && Boolean(asked["stream"]);
}

/** The request as the model gets it. @throws Error, a 500, where it is none */
function requestOf(asked: unknown, isNewer: boolean): ChatRequest {
  if (!isObject(asked) || !Array.isArray(asked["messages"])) throw new Error("no chat completion request");
  const messages: ChatMessage[] = asked["messages"].map((message: unknown) => {
    if (!isObject(message) || typeof message["role"] !== "string") throw new Error("no chat message");
    return { ...message, role: message["role"] };
  });
  const lacksSystem = messages.length > 0 && messages[0]?.role !== "system";
  const whole = isNewer && lacksSystem ? [systemMessage, ...messages] : messages;
  return { ...asked, messages: whole, stream: false, stream_options: null };
}

/** Counts the call and sends it on, whether the episode is claimed or not. @throws Refusal */
function send(engine: EngineState, episodeUuid: string, request: ChatRequest): Promise<ModelReply> {
  if (!engine.isRolling) throw notRolling();
  const record = engine.episodes.get(episodeUuid);
  if (record === undefined) throw new Refusal(404, `Episode ${episodeUuid} not found.`);
  record.activeAt = engine.clock.now();
  record.llmCalls += 1;
  engine.clients.touch(record.clientUuid, engine.clock.now());
  return record.runner.run.callModel(record, request);
}

function notRolling(): Refusal {
  return new Refusal(404, "The server is not in ENGINE.ROLLING status, cannot accept new requests.");
}

/** Waits for the model as long as the episode is claimed, by whomever. */
async function answerOf(engine: EngineState, uuid: string, reply: Promise<ModelReply>): Promise<ModelReply> {
  const polls = POLLS[engine.config.chatRoute];
  for (let poll = 0; poll < polls; poll += 1) {
    expectClaimed(engine, uuid);
    const answered = await within(engine.clock, POLL, reply, engine.closed);
    if (answered !== timedOut) return answered;
    if (!engine.isRolling || engine.closed.aborted) throw notRolling();
  }
  throw new Error(`no answer of the model within ${polls * POLL} s`);
}

/** To the newer route, waiting is activity. @throws Refusal */
function expectClaimed(engine: EngineState, uuid: string): void {
  const isNewer = engine.config.chatRoute === "newer";
  const record = engine.episodes.get(uuid);
  if (record === undefined) throw new Refusal(404, `Episode ${uuid} not found.`);
  if (isNewer) record.activeAt = engine.clock.now();
  if (record.status === "claimed") return;
  const named = isNewer ? `The episode ${uuid}` : "The episode";
  throw new Refusal(404, `${named} is not claimed, cannot accept new requests.`);
}

/** Answers 200 before it knows: a refusal comes as a broken connection. */
async function* keptAlive(
  engine: EngineState,
  completion: Promise<Completion>,
  words: (completion: Completion) => Iterable<string>,
): AsyncGenerator<string> {
  // Nobody may be listening when it fails.
  completion.catch(() => undefined);
  yield ": keepalive\n\n";
  let answer = await within(engine.clock, KEEPALIVE, completion, engine.closed);
  while (answer === timedOut) {
    yield ": keepalive\n\n";
    answer = await within(engine.clock, KEEPALIVE, completion, engine.closed);
  }
  yield* words(answer);
}

async function* readily(events: Iterable<string>): AsyncGenerator<string> {
  yield* events;
}
