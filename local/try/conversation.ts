/** A conversation with a model in words, for a terminal. */
import { printable } from "../../cli/terminal-text.ts";
import type { ChatMessage } from "../../functions/contract/agent.ts";
import type { Exchange } from "./model-server.ts";

/** Of what a tool said, a terminal is for the beginning. */
const TOOL_CHARACTERS = 400;

/** Each message once: a call repeats those of the calls before it. */
export function conversationText(exchanges: readonly Exchange[]): string {
  const said: string[] = [];
  const told = new Set<string>();
  for (const { messages, answer } of exchanges) {
    for (const message of messages) {
      const known = JSON.stringify([message.role, message.content, message.tool_calls ?? null]);
      if (told.has(known)) continue;
      told.add(known);
      said.push(messageText(message));
    }
    const reply = replyOf(answer.body);
    if (reply) told.add(JSON.stringify([reply.role, reply.content, reply.tool_calls ?? null]));
    said.push(
      reply
        ? messageText(reply)
        : `  no answer: HTTP ${answer.status}, ${printable(answer.body.slice(0, 300))}`,
    );
  }
  return said.join("\n");
}

function replyOf(body: string): ChatMessage | undefined {
  try {
    return (JSON.parse(body) as { choices?: { message?: ChatMessage }[] }).choices?.[0]?.message;
  } catch {
    return undefined;
  }
}

function messageText({ role, content, tool_calls: calls = [] }: ChatMessage): string {
  const text = typeof content === "string" ? content : content == null ? "" : JSON.stringify(content);
  const rest = text.length - TOOL_CHARACTERS;
  const shown =
    role === "tool" && rest > 0 ? `${text.slice(0, TOOL_CHARACTERS)}… (${rest} characters more)` : text;
  const called = (calls ?? []).map(({ function: { name, arguments: given } }) => `→ ${name}(${given})`);
  const lines = [...(shown === "" ? [] : shown.split("\n")), ...called].map(printable);
  return [`  ${printable(role)}:`, ...lines.map((line) => `    ${line}`)].join("\n");
}
