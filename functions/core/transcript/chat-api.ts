/** OpenAI's chat completions, and the completions before them. */
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

export function chatAsked(request: Fields): Asked {
  const prompt = text(request["prompt"]);
  const messages = prompt === undefined ? list(request["messages"]).map(saidOf) : [userSays(prompt)];
  return { messages, tools: list(request["tools"]) };
}

export function chatReply(answer: Fields): Reply | undefined {
  const [choice] = list(answer["choices"]);
  if (!choice) return undefined;
  const legacy = text(choice["text"]);
  const said = legacy === undefined ? saidOf(fields(choice["message"])) : assistantSays(legacy);
  return {
    said: { ...said, role: "assistant" },
    finish: text(choice["finish_reason"]),
    model: text(answer["model"]),
    usage: usageOf(fields(answer["usage"])),
  };
}

/** What the chunks of a stream come to. */
export function chatAssembled(events: readonly Fields[]): Fields {
  const whole: Partial<Record<string, string>> = {};
  const calls = new Map<number, { id?: unknown; name: string; arguments: string }>();
  const add = (name: string, more: unknown) => {
    if (typeof more === "string") whole[name] = (whole[name] ?? "") + more;
  };
  let [finish, usage, model]: unknown[] = [];
  for (const event of events) {
    model ??= event["model"];
    usage = event["usage"] ?? usage;
    // A stream of several choices: the first one.
    const choice = list(event["choices"]).find(({ index }) => index === undefined || index === 0);
    if (!choice) continue;
    finish = choice["finish_reason"] ?? finish;
    const delta = fields(choice["delta"]);
    add("content", delta["content"] ?? choice["text"]);
    add("reasoning_content", delta["reasoning_content"] ?? delta["reasoning"]);
    for (const part of list(delta["tool_calls"])) {
      const at = count(part["index"]) ?? 0;
      const call = calls.get(at) ?? { name: "", arguments: "" };
      const made = fields(part["function"]);
      call.id ??= part["id"];
      call.name += text(made["name"]) ?? "";
      call.arguments += text(made["arguments"]) ?? "";
      calls.set(at, call);
    }
  }
  const tool_calls = [...calls.values()].map(({ id, ...made }) => ({ id, function: made }));
  const message = { ...whole, ...(tool_calls.length > 0 ? { tool_calls } : {}) };
  return { model, usage, choices: [{ message, finish_reason: finish }] };
}

function saidOf(message: Fields): Said {
  const role = text(message["role"]) ?? "assistant";
  const calls = list(message["tool_calls"]).map((call) => {
    const { name, arguments: given } = fields(call["function"]);
    return { id: text(call["id"]), name: text(name) ?? "", given };
  });
  return {
    role: roleOf(role),
    text: contentText(message["content"]),
    reasoning: text(message["reasoning_content"]) ?? text(message["reasoning"]),
    calls,
    answers: text(message["tool_call_id"]),
  };
}

export function roleOf(role: string): Said["role"] {
  if (role === "system" || role === "developer") return "system";
  if (role === "assistant" || role === "tool") return role;
  return role === "function" ? "tool" : "user";
}

export function userSays(words: string): Said {
  return { role: "user", text: words, calls: [] };
}

export function assistantSays(words: string): Said {
  return { role: "assistant", text: words, calls: [] };
}

function usageOf(usage: Fields): Reply["usage"] {
  return {
    prompt: count(usage["prompt_tokens"]),
    completion: count(usage["completion_tokens"]),
    cached: count(fields(usage["prompt_tokens_details"])["cached_tokens"]),
  };
}
