/** A model's answer as the engine words it: one JSON object, or server-sent events. */
import type { ToolCall } from "../../functions/contract/agent.ts";
import type { ModelReply } from "./config.ts";
import { pythonJson } from "./python.ts";

export type Completion = ReturnType<typeof completionOf>;

export function completionOf(reply: ModelReply, id: string, modelName: string, nowMs: number) {
  const { message } = reply;
  const calls = message.tool_calls ?? [];
  const { prompt_tokens, completion_tokens } = reply.usage ?? { prompt_tokens: 0, completion_tokens: 0 };
  return {
    id: `chatcmpl-${id}`,
    choices: [
      {
        finish_reason: reply.finishReason ?? (calls.length > 0 ? "tool_calls" : "stop"),
        index: 0,
        logprobs: null,
        message: {
          content: message.content ?? null,
          refusal: null,
          role: "assistant",
          annotations: null,
          audio: null,
          function_call: null,
          tool_calls: calls.length > 0 ? calls : null,
        },
      },
    ],
    created: Math.floor(nowMs / 1000),
    model: modelName,
    object: "chat.completion",
    service_tier: null,
    system_fingerprint: null,
    usage: usageOf(completion_tokens, prompt_tokens),
  };
}

function usageOf(completionTokens: number, promptTokens: number) {
  return {
    completion_tokens: completionTokens,
    prompt_tokens: promptTokens,
    total_tokens: promptTokens + completionTokens,
    completion_tokens_details: null,
    prompt_tokens_details: null,
  };
}

/** The whole answer in three chunks: the real one does not stream either. `model` is the request's own. */
export function* eventsOf(
  completion: Completion,
  { model, countsTokens }: { readonly model: string; readonly countsTokens: boolean },
): Generator<string> {
  const [choice] = completion.choices;
  const calls = choice?.message.tool_calls?.map(callDelta);
  const chunk = (delta: unknown, finishReason: string | null, usage?: unknown) =>
    event({
      id: completion.id,
      choices: [{ delta, finish_reason: finishReason, index: 0, logprobs: null }],
      created: completion.created,
      model,
      object: "chat.completion.chunk",
      usage,
    });
  yield chunk({ content: "", role: "assistant" }, null);
  yield chunk({ content: choice?.message.content ?? null, tool_calls: calls }, null);
  const usage = countsTokens ? completion.usage : usageOf(0, 0);
  yield chunk({ content: "" }, choice?.finish_reason ?? "stop", usage);
  yield "data: [DONE]\n\n";
}

function callDelta(call: ToolCall, index: number) {
  const { name, arguments: written } = call.function;
  return { index, id: call.id, function: { arguments: written, name }, type: call.type };
}

function event(chunk: unknown): string {
  return `data: ${pythonJson(chunk)}\n\n`;
}
