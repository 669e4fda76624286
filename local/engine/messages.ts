/** Anthropic's Messages API as the newer engine speaks it: text and tool use, nothing else. */
import type { ChatMessage, ToolCall } from "../../functions/contract/agent.ts";
import type { Completion } from "./completion.ts";
import type { Dialect, Named } from "./dialect.ts";
import { pythonJson } from "./python.ts";
import { isObject } from "./validation.ts";

export const anthropic: Dialect = { request, answer, events };

const passed = {
  max_tokens: "max_tokens",
  temperature: "temperature",
  top_p: "top_p",
  top_k: "top_k",
  stop_sequences: "stop",
};

function request(asked: Record<string, unknown>): Record<string, unknown> {
  const system = textOf(asked["system"], " ");
  const given = Array.isArray(asked["messages"]) ? asked["messages"].flatMap(messagesOf) : [];
  const named = Object.entries(passed).map(([from, to]) => [to, asked[from]]);
  const tools = toolsOf(asked["tools"]);
  return {
    model: asked["model"] ?? "unknown",
    messages: system === "" ? given : [{ role: "system", content: system }, ...given],
    ...Object.fromEntries(named.filter(([, value]) => value !== undefined && value !== null)),
    ...(tools.length > 0 && { tools, tool_choice: "auto" }),
    stream: asked["stream"],
  };
}

function textOf(content: unknown, between = ""): string {
  if (typeof content === "string") return content;
  const parts = Array.isArray(content) ? content.filter(isText) : [];
  return parts.map(({ text }) => text).join(between);
}

function isText(block: unknown): block is { text: string } {
  return isObject(block) && block["type"] === "text" && typeof block["text"] === "string";
}

/** A turn with results of tools is several messages. A system message among the turns is left out. */
function messagesOf(message: unknown): ChatMessage[] {
  if (!isObject(message) || message["role"] === "system") return [];
  const role = String(message["role"] ?? "user");
  const { content } = message;
  if (!Array.isArray(content)) return [{ role, content: textOf(content) }];
  const blocks = content.filter(isObject);
  const text = textOf(blocks);
  if (role === "assistant")
    return assistantTurn(
      text,
      blocks.filter(({ type }) => type === "tool_use"),
    );
  const results = blocks.filter(({ type }) => type === "tool_result").map(resultOf);
  return text === "" ? results : [...results, { role: "user", content: text }];
}

function assistantTurn(text: string, uses: readonly Record<string, unknown>[]): ChatMessage[] {
  if (text === "" && uses.length === 0) return [];
  const message = { role: "assistant", content: text === "" ? null : text };
  return [uses.length === 0 ? message : { ...message, tool_calls: uses.map(callOf) }];
}

function callOf({ id, name, input }: Record<string, unknown>): ToolCall {
  const written = typeof input === "string" ? input : pythonJson(input ?? "");
  return {
    id: String(id ?? ""),
    type: "function",
    function: { name: String(name ?? ""), arguments: written },
  };
}

function resultOf({ tool_use_id, content }: Record<string, unknown>): ChatMessage {
  return { role: "tool", tool_call_id: String(tool_use_id ?? ""), content: textOf(content) };
}

function toolsOf(tools: unknown): unknown[] {
  const named = Array.isArray(tools) ? tools.filter((tool) => isObject(tool) && Boolean(tool["name"])) : [];
  return named.map(({ name, description, input_schema }) => ({
    type: "function",
    function: { name, description, parameters: input_schema ?? { type: "object", properties: {} } },
  }));
}

const stopReasons: Readonly<Record<string, string>> = { length: "max_tokens", tool_calls: "tool_use" };

function answer(completion: Completion, { model, id }: Named) {
  const [choice] = completion.choices;
  return {
    id: `msg_${id}`,
    type: "message",
    role: "assistant",
    model,
    content: blocksOf(choice?.message),
    stop_reason: stopReasons[choice?.finish_reason ?? ""] ?? "end_turn",
    stop_sequence: null,
    usage: {
      input_tokens: completion.usage.prompt_tokens,
      output_tokens: completion.usage.completion_tokens,
    },
  };
}

type Block = { type: "text"; text: string } | { type: "tool_use"; id: string; name: string; input: unknown };

function blocksOf(message: Completion["choices"][number]["message"] | undefined): Block[] {
  const text: Block[] = message?.content ? [{ type: "text", text: message.content }] : [];
  const uses = (message?.tool_calls ?? []).map(
    (call): Block => ({
      type: "tool_use",
      id: call.id,
      name: call.function.name,
      input: inputOf(call.function.arguments),
    }),
  );
  return [...text, ...uses];
}

/** Arguments that are no JSON object become an empty one. */
function inputOf(written: string): unknown {
  try {
    const parsed: unknown = JSON.parse(written);
    return parsed !== null && typeof parsed === "object" ? parsed : {};
  } catch {
    return {};
  }
}

/** Everything at once when it is there: the trainer does not stream. */
function* events(completion: Completion, named: Named): Generator<string> {
  const whole = answer(completion, named);
  const { stop_reason, stop_sequence, usage, content } = whole;
  const begun = { ...whole, content: [], stop_reason: null, usage: { ...usage, output_tokens: 0 } };
  yield event("message_start", { message: begun });
  yield event("ping", {});
  for (const [index, block] of content.entries()) yield* blockEvents(block, index);
  const { output_tokens } = usage;
  yield event("message_delta", { delta: { stop_reason, stop_sequence }, usage: { output_tokens } });
  yield event("message_stop", {});
}

function* blockEvents(block: Block, index: number): Generator<string> {
  const isText = block.type === "text";
  const content_block = isText ? { ...block, text: "" } : { ...block, input: {} };
  yield event("content_block_start", { index, content_block });
  const delta = isText
    ? { type: "text_delta", text: block.text }
    : { type: "input_json_delta", partial_json: pythonJson(block.input) };
  yield event("content_block_delta", { index, delta });
  yield event("content_block_stop", { index });
}

function event(type: string, facts: Record<string, unknown>): string {
  return `event: ${type}\ndata: ${pythonJson({ ...facts, type })}\n\n`;
}
