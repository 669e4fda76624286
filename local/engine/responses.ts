/** OpenAI's Responses API as the newer engine speaks it: text and function calls, nothing else. */
import type { ChatMessage } from "../../functions/contract/agent.ts";
import type { Completion } from "./completion.ts";
import type { Dialect, Named } from "./dialect.ts";
import { pythonJson } from "./python.ts";
import { isObject } from "./validation.ts";

export const responses: Dialect = { request, answer, events };

const passed = { temperature: "temperature", top_p: "top_p", max_output_tokens: "max_tokens", stop: "stop" };

function request(asked: Record<string, unknown>): Record<string, unknown> {
  const { instructions, input, tools } = asked;
  const system =
    typeof instructions === "string" && instructions !== "" ? [says("system", instructions)] : [];
  const messages = [...system, ...messagesOf(input)];
  const named = Object.entries(passed).map(([from, to]) => [to, asked[from]]);
  const functions = toolsOf(tools);
  return {
    model: asked["model"] ?? "unknown",
    messages,
    ...Object.fromEntries(named.filter(([, value]) => value !== undefined && value !== null)),
    ...(functions.length > 0 && { tools: functions, tool_choice: "auto" }),
    stream: asked["stream"],
  };
}

function says(role: string, content: string): ChatMessage {
  return { role, content };
}

function messagesOf(input: unknown): ChatMessage[] {
  if (typeof input === "string") return input === "" ? [] : [says("user", input)];
  return Array.isArray(input) ? input.flatMap(messageOf) : [];
}

function messageOf(item: unknown): ChatMessage[] {
  if (typeof item === "string") return [says("user", item)];
  if (!isObject(item)) return [];
  const { type, call_id, name, arguments: written, output } = item;
  if (type === "function_call") {
    const named = { name: String(name ?? ""), arguments: textOf(written) };
    const call = { id: String(call_id ?? ""), type: "function" as const, function: named };
    return [{ role: "assistant", content: null, tool_calls: [call] }];
  }
  if (type === "function_call_output")
    return [{ role: "tool", tool_call_id: String(call_id ?? ""), content: textOf(output) }];
  const content = contentOf(item["content"]);
  if ((type !== undefined && type !== "message") || content === "") return [];
  return [says(roleOf(item["role"]), content)];
}

function roleOf(role: unknown): string {
  if (role === "developer") return "system";
  return ["user", "assistant", "system", "tool"].includes(String(role)) ? String(role) : "user";
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : pythonJson(value ?? "");
}

function contentOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  const parts = content.filter(
    (part) => isObject(part) && /^(input_|output_)?text$/.test(String(part["type"])),
  );
  return parts.map((part: { text?: unknown }) => (typeof part.text === "string" ? part.text : "")).join("");
}

/** Tools that are no functions are dropped. */
function toolsOf(tools: unknown): unknown[] {
  const functions = Array.isArray(tools)
    ? tools.filter((tool) => isObject(tool) && tool["type"] === "function")
    : [];
  return functions.map(({ name, description, parameters }) => ({
    type: "function",
    function: { name, description, parameters: parameters ?? { type: "object", properties: {} } },
  }));
}

function answer(completion: Completion, { model, id }: Named) {
  const [choice] = completion.choices;
  const { prompt_tokens, completion_tokens, total_tokens } = completion.usage;
  const isCut = choice?.finish_reason === "length";
  return {
    id: `resp_${id}`,
    object: "response",
    created_at: completion.created,
    completed_at: completion.created,
    model,
    status: isCut ? "incomplete" : "completed",
    output: outputOf(choice?.message, id),
    parallel_tool_calls: true,
    tool_choice: "auto",
    tools: [],
    usage: {
      input_tokens: prompt_tokens,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: completion_tokens,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens,
    },
    ...(isCut && { incomplete_details: { reason: "max_output_tokens" } }),
  };
}

type Message = Completion["choices"][number]["message"];

function outputOf(message: Message | undefined, id: string) {
  const text = message?.content ? [messageItem(message.content, id)] : [];
  const calls = (message?.tool_calls ?? []).map((call) => ({
    id: call.id,
    type: "function_call",
    call_id: call.id,
    name: call.function.name,
    arguments: call.function.arguments,
    status: "completed",
  }));
  return [...text, ...calls];
}

function messageItem(text: string, id: string) {
  const content = [{ type: "output_text", text, annotations: [] }];
  return { id: `msg_${id}`, type: "message", role: "assistant", status: "completed", content };
}

/** Everything at once when it is there: the trainer does not stream. Function calls come with the last event only. */
function* events(completion: Completion, named: Named): Generator<string> {
  const whole = answer(completion, named);
  const begun = { ...whole, output: [] };
  const told: [string, Record<string, unknown>][] = [
    ["response.created", { response: begun }],
    ["response.in_progress", { response: begun }],
    ...textEvents(completion.choices[0]?.message.content ?? "", named.id),
    ["response.completed", { response: whole }],
  ];
  for (const [at, [type, facts]] of told.entries())
    yield `event: ${type}\ndata: ${pythonJson({ ...facts, type, sequence_number: at + 1 })}\n\n`;
}

function textEvents(text: string, id: string): [string, Record<string, unknown>][] {
  if (text === "") return [];
  const item = messageItem(text, id);
  const [part] = item.content;
  const place = { output_index: 0, content_index: 0 };
  return [
    ["response.output_item.added", { output_index: 0, item: { ...item, content: [] } }],
    ["response.content_part.added", { ...place, part: { ...part, text: "" } }],
    ["response.output_text.delta", { ...place, delta: text }],
    ["response.output_text.done", { ...place, text }],
    ["response.content_part.done", { ...place, part }],
    ["response.output_item.done", { output_index: 0, item }],
  ];
}
