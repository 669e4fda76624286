/** OpenAI's Responses API. */
import { assistantSays, roleOf, userSays } from "./chat-api.ts";
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

export function responsesAsked(request: Fields): Asked {
  const { instructions, input, tools } = request;
  const system: Said[] =
    typeof instructions === "string" ? [{ role: "system", text: instructions, calls: [] }] : [];
  const items = typeof input === "string" ? [userSays(input)] : saidIn(list(input));
  return { messages: [...system, ...items], tools: list(tools) };
}

export function responsesReply(answer: Fields): Reply | undefined {
  if (!Array.isArray(answer["output"])) return undefined;
  const usage = fields(answer["usage"]);
  const said = saidIn(list(answer["output"]));
  return {
    said: said.reduce(joined, assistantSays("")),
    finish: text(fields(answer["incomplete_details"])["reason"]) ?? text(answer["status"]),
    model: text(answer["model"]),
    usage: {
      prompt: count(usage["input_tokens"]),
      completion: count(usage["output_tokens"]),
      cached: count(fields(usage["input_tokens_details"])["cached_tokens"]),
    },
  };
}

/** The last event of a stream has the whole response; one that broke off, its finished items. */
export function responsesAssembled(events: readonly Fields[]): Fields {
  const whole = events.findLast(({ response }) => Array.isArray(fields(response)["output"]));
  const ended = whole && list(fields(whole["response"])["output"]).length > 0;
  if (ended) return fields(whole["response"]);
  const output = events.filter(({ type }) => type === "response.output_item.done").map(({ item }) => item);
  return { ...fields(whole?.["response"]), output };
}

/** Items that follow one another and are the model's make one message of the conversation. */
function saidIn(items: readonly Fields[]): Said[] {
  const said: Said[] = [];
  for (const item of items) {
    const next = saidBy(item);
    const last = said.at(-1);
    if (next.role === "assistant" && last?.role === "assistant") said.splice(-1, 1, joined(last, next));
    else said.push(next);
  }
  return said;
}

function saidBy(item: Fields): Said {
  const type = text(item["type"]);
  const id = text(item["call_id"]);
  if (type === "function_call")
    return {
      ...assistantSays(""),
      calls: [{ id, name: text(item["name"]) ?? "", given: item["arguments"] }],
    };
  if (type === "function_call_output")
    return { role: "tool", text: contentText(item["output"]), calls: [], answers: id };
  if (type === "reasoning") return { ...assistantSays(""), reasoning: contentText(item["summary"]) };
  return {
    role: roleOf(text(item["role"]) ?? "assistant"),
    text: contentText(item["content"]),
    calls: [],
  };
}

function joined(one: Said, next: Said): Said {
  const reasoning = [one.reasoning, next.reasoning].filter(Boolean).join("\n");
  return {
    role: "assistant",
    text: [one.text, next.text].filter(Boolean).join("\n"),
    reasoning: reasoning || undefined,
    calls: [...one.calls, ...next.calls],
  };
}
