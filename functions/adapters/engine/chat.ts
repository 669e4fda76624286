/** Model calls for an agent: one chat completion at a time, as long as the episode's signal allows. */
import type { Dispatcher } from "undici";
import * as z from "zod";
import type { ChatReply, ChatRequest } from "../../contract/agent.ts";
import type { Clock } from "../../core/clock.ts";
import { ModelError } from "../../core/errors.ts";
import type { RecordCall } from "../../core/transcript/recorded-call.ts";
import { transportWords, wordsOf } from "./answers.ts";
import { neverSent, sharedDispatcher } from "./dispatcher.ts";
import { exchange } from "./exchange.ts";
import type { HttpReply } from "./http.ts";
import { parseJson } from "./json.ts";
import { watchModelCalls } from "./model-calls.ts";
import { outageOf } from "./outage.ts";
import { retryAfterMs } from "./retry-after.ts";

export interface ChatOptions {
  /** A grant's `openai_base_url`, with the address that this client uses. */
  readonly baseUrl: string;
  readonly apiKey: string;
  /** The only limit of a call: no call goes out after it has fired, and a running one is cut off. */
  readonly signal: AbortSignal;
  /** Default: the one of this process. */
  readonly dispatcher?: Dispatcher;
  /** For the pauses before a call that did not reach the model is made again. */
  readonly clock: Clock;
  /** Gets each model call once it is over. */
  readonly record?: RecordCall | undefined;
}
export interface Chat {
  /**
   * Resolves to the assistant's message of the first choice. A call that a limiter turns away (429, 503 with
   * `retry-after`), or that finds no connection, is made again, for up to a minute.
   * @throws ModelError where there is no answer, or none with choices; the signal's reason once that has fired.
   */
  chat(request: ChatRequest): Promise<ChatReply>;
  /**
   * Calls that went out so far, answered or not, made here or by an agent's own library through `fetch`: an episode
   * without any is worth nothing to the trainer.
   */
  calls(): number;
  /** Unix ms at which the last call began. */
  lastCallAt(): number | undefined;
  /** What kept the last call from the model, if anything but the model or the engine did. */
  outage(): string | undefined;
}

/** The engine ignores `model`, but OpenAI's API wants one; the reference client sends this name. */
const MODEL = "reserved_field";

export function createChat(options: ChatOptions): Chat {
  const { signal, clock, dispatcher = sharedDispatcher() } = options;
  const url = `${options.baseUrl.replace(/\/+$/, "")}/chat/completions`;
  const headers = { authorization: `Bearer ${options.apiKey}` };
  const { calls, lastCallAt, outage } = watchModelCalls(options.apiKey, signal, options.record);
  const ask = async (body: object): Promise<ChatReply | TurnedAway> => {
    signal.throwIfAborted();
    try {
      const reply = await exchange(dispatcher, { method: "POST", url, body, headers, signal });
      return turnedAway(reply) ?? messageOf(reply);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof ModelError) throw error;
      const words = `expected an answer of the model, found none: ${transportWords(error)}`;
      const failure = new ModelError(words, undefined, error, true);
      if (!neverSent(error)) throw failure;
      return new TurnedAway(failure);
    }
  };
  return {
    calls,
    lastCallAt,
    outage,
    chat: async (request) => {
      const body = { model: MODEL, ...request, stream: false };
      const until = clock.now() + PATIENCE_MS;
      for (let tries = 0; ; tries += 1) {
        const answer = await ask(body);
        if (!(answer instanceof TurnedAway)) return answer;
        const waitMs = Math.max(answer.waitMs, FIRST_PAUSE_MS * 2 ** Math.min(tries, 4));
        if (clock.now() + waitMs > until) throw answer.error;
        await clock.sleep(waitMs, signal);
      }
    },
  };
}

/** A call that did not reach the model, and may be made again after a while. */
class TurnedAway {
  readonly error: ModelError;
  /** What the answer asks for. */
  readonly waitMs: number;

  constructor(error: ModelError, waitMs = 0) {
    this.error = error;
    this.waitMs = waitMs;
  }
}

/**
 * How long a call is tried again that does not reach the model, ms: well within the time after which the engine takes back
 * an episode without model calls.
 */
const PATIENCE_MS = 60_000;
const FIRST_PAUSE_MS = 1000;

/** A limiter turns a request away without passing it on: 429, or 503 with the time at which to come again. */
function turnedAway(reply: HttpReply): TurnedAway | undefined {
  const waitMs = retryAfterMs(reply);
  const isLimit = reply.status === 429 || (reply.status === 503 && waitMs !== undefined);
  return isLimit ? new TurnedAway(failureOf(reply), waitMs) : undefined;
}

/** What OpenAI's own client takes from servers that write less, or other JSON, than OpenAI does. */
const toolCallSchema = z.looseObject({
  id: z.string().nullish(),
  type: z.literal("function").nullish(),
  function: z.looseObject({
    name: z.string(),
    arguments: z
      .union([z.string(), z.record(z.string(), z.unknown())], { error: "expected a text or an object" })
      .nullish(),
  }),
});
const completionSchema = z.looseObject({
  choices: z.array(
    z.looseObject({
      message: z.looseObject({
        role: z.string().nullish(),
        content: z.string().nullish(),
        tool_calls: z.array(toolCallSchema).nullish(),
      }),
      finish_reason: z.string().nullish().catch(undefined),
    }),
  ),
  usage: z
    .looseObject({ prompt_tokens: z.number().optional(), completion_tokens: z.number().optional() })
    .nullish()
    .catch(undefined),
});

/** Older engines answer a refusal with HTTP 200: what counts is whether there are choices. */
function messageOf(reply: HttpReply): ChatReply {
  const completion = completionSchema.safeParse(parseJson(reply.text));
  const choice = completion.data?.choices[0];
  if (choice === undefined || reply.status >= 300) throw failureOf(reply, completion.error);
  const { role, content, tool_calls, ...rest } = choice.message;
  // OpenAI leaves these out where there is nothing; engines write null, which an agent need not handle.
  const calls = tool_calls == null ? {} : { tool_calls: tool_calls.map(toolCallOf) };
  const message = { ...rest, role: role ?? "assistant", content: content ?? null, ...calls };
  return Object.defineProperties(message, {
    finish_reason: { value: choice.finish_reason ?? undefined },
    usage: { value: completion.data?.usage ?? undefined },
  });
}

/** As OpenAI writes it, so that an agent, and the next request, have it in one form. */
function toolCallOf({ id, function: made, ...rest }: z.infer<typeof toolCallSchema>, index: number) {
  const given = made.arguments ?? "{}";
  const text = typeof given === "string" ? given : JSON.stringify(given);
  const type = "function" as const;
  return {
    ...rest,
    id: id ?? `call_${index}_${crypto.randomUUID().slice(0, 8)}`,
    type,
    function: { ...made, arguments: text },
  };
}

/** Where the answer has choices in which something is amiss: what, by its path. */
function fieldAtFault(cause: unknown): string {
  const [issue] = cause instanceof z.ZodError ? cause.issues : [];
  if (!issue || issue.path.length < 2) return "";
  return ` (${issue.path.join(".")}: ${issue.message})`;
}

function failureOf(reply: HttpReply, cause?: unknown): ModelError {
  const found = `HTTP ${reply.status} with "${wordsOf(reply)}"`;
  const words = `expected a chat completion with choices, found ${found}${fieldAtFault(cause)}`;
  return new ModelError(words, reply.status, cause, outageOf(reply) !== undefined);
}
