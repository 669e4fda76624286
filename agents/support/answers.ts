/** The reward rule of the shipped agents: the last `\boxed{}` of the reply against the task's reference answer. */
import type { AgentOutput, ChatMessage, Task } from "../agent.ts";
import { parseNumber, sameAnswer } from "./numbers.ts";

/** How much of an answer is kept in the metadata, in UTF-16 units. */
const KEPT = 200;

/**
 * The reference answer: what follows the last `####` of `metadata.answer`, as GSM8K has it, or all of it where it is
 * just a number.
 * @throws Error when there is none: a broken dataset must not be trained on as a reward of 0.
 */
export function referenceAnswer(task: Task): string {
  const { answer: given } = task.metadata;
  const text = typeof given === "number" ? String(given) : given;
  if (typeof text !== "string") throw noReference(task, text === undefined ? "nothing" : `a ${typeof text}`);
  const at = text.lastIndexOf("####");
  const answer = (at < 0 ? text : text.slice(at + "####".length)).trim();
  if (answer === "") throw noReference(task, "an empty text");
  if (at < 0 && parseNumber(answer) === undefined) throw noReference(task, "a text without ####");
  return answer;
}

/**
 * The messages that open the conversation: the task's own, then its query where they do not hold it. `instruction`
 * stands before them as system message unless the task brings a system message of its own.
 * @throws Error when the task has neither messages nor a query, or a message without a role.
 */
export function openingMessages(task: Task, instruction: string): ChatMessage[] {
  const messages = task.init_messages.map((message, index) => withRole(task, message, index));
  const asked = messages.some((message) => replyText(message).includes(task.main_query));
  if (task.main_query.trim() !== "" && !asked) messages.push({ role: "user", content: task.main_query });
  if (messages.length === 0) {
    throw new Error(`task "${task.task_id}": expected main_query or init_messages, found neither`);
  }
  const instructed = messages.some((message) => message.role === "system");
  return instructed ? messages : [{ role: "system", content: instruction }, ...messages];
}

/** The content of the last `\boxed{…}` that is closed; undefined when there is none or it is empty. One linear pass. */
export function boxedAnswer(text: string): string | undefined {
  const open: { readonly from: number; readonly boxed: boolean }[] = [];
  let last = { from: -1, to: -1 };
  for (const { 0: token, index } of text.matchAll(/\\boxed\s*\{|\\.|[{}]/gs)) {
    if (token.endsWith("{") && token !== "\\{") {
      open.push({ from: index + token.length, boxed: token !== "{" });
    } else if (token === "}") {
      const group = open.pop();
      if (group?.boxed && group.from > last.from) last = { from: group.from, to: index };
    }
  }
  return text.slice(last.from, last.to).trim() || undefined;
}

/** Reward 1 for the right answer, else 0. The metadata hold the answer and the reference, never the prompt. */
export function grade(expected: string, reply: ChatMessage): Required<AgentOutput> {
  const answer = boxedAnswer(replyText(reply));
  const correct = answer !== undefined && sameAnswer(answer, expected);
  return {
    reward: correct ? 1 : 0,
    is_success: correct,
    metadata: { answer: answer?.slice(0, KEPT).toWellFormed() ?? null, expected },
    log_metrics: { answered: answer === undefined ? 0 : 1 },
  };
}

/** A model may answer with null, and some servers with something else than text. */
function replyText(message: ChatMessage): string {
  return typeof message.content === "string" ? message.content : "";
}

function withRole(task: Task, message: Record<string, unknown>, index: number): ChatMessage {
  const { role } = message;
  if (typeof role === "string" && role !== "") return { ...message, role };
  throw new Error(
    `task "${task.task_id}": expected init_messages[${index}].role to be a text such as "user"`,
  );
}

function noReference(task: Task, found: string): Error {
  return new Error(
    `task "${task.task_id}": expected metadata.answer to be a number or a text that ends in "#### <answer>", ` +
      `found ${found}; correct the dataset`,
  );
}
