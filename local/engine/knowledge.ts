/** What the stand-in's model knows: the questions of a dataset, found by their text in what it is asked. */
import type { ChatMessage } from "../../functions/contract/agent.ts";
import type { Task } from "../../functions/core/protocol.ts";

export interface Known {
  readonly answer: string;
  readonly expression: string;
  readonly difficulty: number;
}
/** What the messages ask. `text` is the same at every turn of a conversation. */
export interface Question {
  readonly text: string;
  readonly known: Known | undefined;
}

/** Tasks without an answer are left out. Where two share a question, the later one counts. */
export function createKnowledge(tasks: readonly Task[]): (messages: readonly ChatMessage[]) => Question {
  const known = new Map(tasks.flatMap(entryOf));
  // The longest first: a question may be part of another one.
  const questions = [...known.keys()].sort((a, b) => b.length - a.length);
  return (messages) => {
    const asked = messages.filter(({ role }) => role === "user").map(({ content }) => textOf(content));
    for (const text of asked.toReversed()) {
      const question = known.has(text) ? text : questions.find((one) => text.includes(one));
      if (question !== undefined) return { text: question, known: known.get(question) };
    }
    return { text: asked.join("\n"), known: undefined };
  };
}

/** What to say where the stand-in's model has no answer to some of the tasks; undefined where it knows all. */
export function unknownAnswers(tasks: readonly Task[]): string | undefined {
  const unknown = tasks.filter((task) => entryOf(task).length === 0).length;
  if (unknown === 0) return undefined;
  return (
    `the stand-in's model knows the answers of ${tasks.length - unknown} of your ${tasks.length} tasks, and guesses at the others: ` +
    "it finds them in metadata.answer. Ask a real model with --model URL"
  );
}

function entryOf(task: Task): [string, Known][] {
  const question = textOf(task.main_query || lastUserMessage(task));
  const { answer: given, expression, difficulty } = task.metadata;
  const answer = String(given ?? "")
    .split("####")
    .at(-1)
    ?.trim();
  if (question === "" || !answer) return [];
  const known = {
    answer,
    expression: typeof expression === "string" ? expression : answer.replace(/[^\d.+*/()-]/g, ""),
    difficulty: typeof difficulty === "number" ? difficulty : 2,
  };
  return [[question, known]];
}

function lastUserMessage(task: Task): unknown {
  const { content } = task.init_messages.findLast(({ role }) => role === "user") ?? {};
  return content;
}

/** Content may come as text, or as parts of which some are text. */
function textOf(content: unknown): string {
  if (typeof content === "string") return content.trim();
  if (!Array.isArray(content)) return "";
  const parts = content.map((part: { text?: unknown } | null) => part?.text);
  return parts
    .filter((text) => typeof text === "string")
    .join("\n")
    .trim();
}
