/** A real model in place of the stand-in's own: any server that speaks OpenAI's API, such as vLLM, Ollama or a provider. */
import * as z from "zod";
import { redact } from "../../functions/core/errors.ts";
import type { EngineModel } from "./config.ts";

export interface Answer {
  readonly status: number;
  readonly body: string;
}
export type AskModel = (path: string, body: Record<string, unknown>, signal: AbortSignal) => Promise<Answer>;

export interface RemoteOptions {
  readonly apiKey?: string;
  readonly model?: string;
}

/** `url` ends where `/chat/completions` follows; without `model` the first one that the server lists is asked. */
export function remoteModel(url: string, options: RemoteOptions): AskModel {
  const base = url.replace(/\/+$/, "");
  const headers = {
    "content-type": "application/json",
    ...(options.apiKey === undefined ? {} : { authorization: `Bearer ${options.apiKey}` }),
  };
  let name: Promise<string> | undefined;
  const nameOf = async () => options.model ?? (await firstModel(base, headers));
  return async (path, body, signal) => {
    name ??= nameOf();
    const request = { ...body, model: await name };
    const response = await fetch(`${base}${path}`, {
      method: "POST",
      headers,
      body: JSON.stringify(request),
      signal,
    });
    return { status: response.status, body: await response.text() };
  };
}

async function firstModel(base: string, headers: Record<string, string>): Promise<string> {
  const response = await fetch(`${base}/models`, { headers });
  const { data } = (await response.json()) as { data?: { id?: unknown }[] };
  const id = data?.[0]?.id;
  if (typeof id === "string") return id;
  throw new Error(`expected a list of models at ${base}/models, found none: name one with --model-name`);
}

const completion = z.object({
  choices: z
    .array(
      z.object({
        message: z.looseObject({ role: z.string().default("assistant"), content: z.string().nullish() }),
        finish_reason: z.string().nullish(),
      }),
    )
    .min(1),
  usage: z.object({ prompt_tokens: z.number(), completion_tokens: z.number() }).optional().catch(undefined),
});

/** The same as the model under training. A call that fails is an error of the engine, in the server's words. */
export function remoteEngineModel(url: string, options: RemoteOptions): EngineModel {
  const ask = remoteModel(url, options);
  return async (request) => {
    const { model: _, stream: _s, stream_options: _o, ...asked } = request;
    const { status, body } = await ask("/chat/completions", asked, AbortSignal.timeout(LONGEST_CALL_MS));
    const parsed = completion.safeParse(jsonIn(body));
    const { choices: [choice] = [], usage } = parsed.data ?? {};
    if (status !== 200 || !choice)
      throw new Error(`the model at ${url} answered HTTP ${status}: ${redact(body.slice(0, 500))}`);
    return {
      message: choice.message as Awaited<ReturnType<EngineModel>>["message"],
      ...(usage ? { usage } : {}),
      ...(choice.finish_reason === "length" ? { finishReason: "length" as const } : {}),
      // It has taken its time already.
      seconds: 0,
    };
  };
}

const LONGEST_CALL_MS = 1_200_000;

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
