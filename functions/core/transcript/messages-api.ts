/** Anthropic's Messages API. */
import { assistantSays } from "./chat-api.ts";
import {
  type Asked,
  contentText,
  count,
  type Fields,
  fields,
  list,
  type Reply,
  type Said,
  text,
} from "./message.ts";

export function messagesAsked(request: Fields): Asked {
  const { system, messages, tools } = request;
  const first: Said[] = system == null ? [] : [{ role: "system", text: contentText(system), calls: [] }];
  return { messages: [...first, ...list(messages).flatMap(saidIn)], tools: list(tools) };
}

export function messagesReply(answer: Fields): Reply | undefined {
  if (!Array.isArray(answer["content"])) return undefined;
  const usage = fields(answer["usage"]);
  const [said = assistantSays("")] = saidIn({ role: "assistant", content: answer["content"] });
  return {
    said,
    finish: text(answer["stop_reason"]),
    model: text(answer["model"]),
    usage: {
      prompt: count(usage["input_tokens"]),
      completion: count(usage["output_tokens"]),
      cached: count(usage["cache_read_input_tokens"]),
    },
  };
}

/** What the events of a stream come to. */
export function messagesAssembled(events: readonly Fields[]): Fields {
  const start = fields(events.find(({ type }) => type === "message_start")?.["message"]);
  const content = new Map<unknown, Record<string, unknown>>();
  let end: Fields = {};
  let usage: Fields = fields(start["usage"]);
  for (const event of events) {
    const { type, index } = event;
    if (type === "content_block_start") content.set(index, { ...fields(event["content_block"]) });
    if (type === "content_block_delta") addDelta(content.get(index) ?? {}, fields(event["delta"]));
    if (type !== "message_delta") continue;
    end = fields(event["delta"]);
    usage = { ...usage, ...fields(event["usage"]) };
  }
  return { ...start, ...end, usage, content: [...content.values()] };
}

function addDelta(block: Record<string, unknown>, delta: Fields): void {
  const add = (name: string, more: unknown) => {
    if (typeof more === "string") block[name] = (text(block[name]) ?? "") + more;
  };
  add("text", delta["text"]);
  add("thinking", delta["thinking"]);
  // The start holds an empty object in its place.
  if (typeof delta["partial_json"] === "string" && typeof block["input"] !== "string") block["input"] = "";
  add("input", delta["partial_json"]);
}

/** A message's blocks: what a tool answered stands in the user's messages, each answer one of its own here. */
function saidIn(message: Fields): Said[] {
  const role = message["role"] === "assistant" ? "assistant" : "user";
  const { content } = message;
  if (!Array.isArray(content)) return [{ role, text: contentText(content), calls: [] }];
  const blocks = list(content);
  const of = (type: string) => blocks.filter((block) => block["type"] === type);
  const tools = of("tool_result").map(
    (block): Said => ({
      role: "tool",
      text: contentText(block["content"]),
      calls: [],
      answers: text(block["tool_use_id"]),
    }),
  );
  const apart = new Set(["tool_result", "tool_use", "thinking", "redacted_thinking"]);
  const rest = blocks.filter((block) => !apart.has(String(block["type"])));
  const said: Said = {
    role,
    text: contentText(rest),
    reasoning:
      of("thinking")
        .map((block) => text(block["thinking"]) ?? "")
        .join("\n") || undefined,
    calls: of("tool_use").map(({ id, name, input }) => ({
      id: text(id),
      name: text(name) ?? "",
      given: input,
    })),
  };
  const isEmpty = said.text === "" && said.calls.length === 0 && role === "user" && tools.length > 0;
  return isEmpty ? tools : [...tools, said];
}
