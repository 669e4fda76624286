/** Model calls for an agent: one chat completion at a time, as long as the episode's signal allows. */
import type { Dispatcher } from "undici";
import * as z from "zod";
import type { ChatMessage, ChatRequest } from "../../core/agent.ts";
import { ModelError } from "../../core/errors.ts";
import { parseJson, transportWords, wordsOf } from "./answers.ts";
import { sharedDispatcher } from "./dispatcher.ts";
import { exchange, type HttpReply } from "./exchange.ts";
import { watchModelCalls } from "./model-calls.ts";

export interface ChatOptions {
  /** A grant's `openai_base_url`, with the address that this client uses. */
  readonly baseUrl: string;
  readonly apiKey: string;
  /** The only limit of a call: no call goes out after it has fired, and a running one is cut off. */
  readonly signal: AbortSignal;
  /** Default: the one of this process. */
  readonly dispatcher?: Dispatcher;
}
export interface Chat {
  /**
   * Resolves to the assistant's message of the first choice.
   * @throws ModelError where there is no answer, or none with choices; the signal's reason once that has fired.
   */
  chat(request: ChatRequest): Promise<ChatMessage>;
  /**
   * Calls that went out so far, answered or not, made here or by an agent's own library through `fetch`: an episode
   * without any is worth nothing to the trainer.
   */
  calls(): number;
  /** Unix ms at which the last call began. */
  lastCallAt(): number | undefined;
}

/** The engine ignores `model`, but OpenAI's API wants one; the reference client sends this name. */
const MODEL = "reserved_field";

export function createChat(options: ChatOptions): Chat {
  const { signal, dispatcher = sharedDispatcher() } = options;
  const url = `${options.baseUrl.replace(/\/+$/, "")}/chat/completions`;
  const headers = { authorization: `Bearer ${options.apiKey}` };
  const { calls, lastCallAt } = watchModelCalls(options.apiKey, signal);
  return {
    calls,
    lastCallAt,
    chat: async (request) => {
      signal.throwIfAborted();
      const body = { model: MODEL, ...request, stream: false };
      const reply = await exchange(dispatcher, { method: "POST", url, body, headers, signal }).catch(
        (error) => {
          signal.throwIfAborted();
          throw new ModelError(
            `expected an answer of the model, found none: ${transportWords(error)}`,
            undefined,
            error,
          );
        },
      );
      return messageOf(reply);
    },
  };
}

const toolCallSchema = z.looseObject({
  id: z.string(),
  type: z.literal("function"),
  function: z.looseObject({ name: z.string(), arguments: z.string() }),
});
const completionSchema = z.looseObject({
  choices: z.array(
    z.looseObject({
      message: z.looseObject({
        role: z.string(),
        content: z.string().nullish(),
        tool_calls: z.array(toolCallSchema).nullish(),
      }),
    }),
  ),
});

/** Older engines answer a refusal with HTTP 200: what counts is whether there are choices. */
function messageOf(reply: HttpReply): ChatMessage {
  const completion = completionSchema.safeParse(parseJson(reply.text));
  const message = completion.data?.choices[0]?.message;
  if (message === undefined || reply.status >= 300) {
    const found = `HTTP ${reply.status} with "${wordsOf(reply)}"`;
    throw new ModelError(
      `expected a chat completion with choices, found ${found}`,
      reply.status,
      completion.error,
    );
  }
  const { content, tool_calls, ...rest } = message;
  // OpenAI leaves these out where there is nothing; engines write null, which an agent need not handle.
  return { ...rest, content: content ?? null, ...(tool_calls == null ? {} : { tool_calls }) };
}
