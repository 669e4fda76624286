/** Which `--map` a dataset's own columns ask for: GSM8K, MATH, HumanEval, MBPP and those like them. */
import { type Fields, type Mapped, taskFields } from "./record.ts";

/** The likelier first. */
const questions = ["question", "problem", "prompt", "instruction", "text", "query", "input"];
const conversations = ["messages", "prompt", "conversations", "conversation"];
const ids = ["task_id", "id", "unique_id", "question_id", "problem_id", "uid", "qid", "index", "idx"];
/** More columns than these make a line that nobody reads. */
const MOST_COLUMNS = 8;

/** A mapping under which the record is a task; undefined where no column holds a question. */
export function proposedMap(record: Fields): readonly Mapped[] | undefined {
  const question = questionOf(record);
  if (!question) return undefined;
  const id = ids.find((name) => isId(record[name]));
  const used: ReadonlySet<unknown> = new Set([question.source, id, ...taskFields]);
  const rest = Object.keys(record).filter((name) => !used.has(name) && isMappable(name, record[name]));
  return [
    ...(id === undefined || (id === "task_id" && typeof record[id] === "string")
      ? []
      : [{ target: "task_id", source: id }]),
    ...(question.source === question.target ? [] : [question]),
    ...rest.slice(0, MOST_COLUMNS).map((name) => ({ target: `metadata.${name}`, source: name })),
  ];
}

export function mapOption(mapping: readonly Mapped[]): string {
  const pairs = mapping.map(({ target, source }) => `${target}=${source}`).join(",");
  return `--map ${/^[\w.=,-]+$/.test(pairs) ? pairs : `'${pairs.replaceAll("'", "'\\''")}'`}`;
}

function questionOf(record: Fields): Mapped | undefined {
  if (typeof record["main_query"] === "string" && record["main_query"] !== "")
    return { target: "main_query", source: "main_query" };
  if (isConversation(record["init_messages"])) return { target: "init_messages", source: "init_messages" };
  const text = questions.find((name) => typeof record[name] === "string" && record[name] !== "");
  if (text !== undefined) return { target: "main_query", source: text };
  const conversation = conversations.find((name) => isConversation(record[name]));
  return conversation === undefined ? undefined : { target: "init_messages", source: conversation };
}

function isConversation(value: unknown): boolean {
  return (
    Array.isArray(value) && value.length > 0 && value.every((part) => typeof part === "object" && part?.role)
  );
}

/** Numbers that JavaScript would round are ids as well. */
function isId(value: unknown): boolean {
  return (typeof value === "string" && value !== "") || Number.isSafeInteger(value);
}

/** A name that the option can say, and a value that is there. */
function isMappable(name: string, value: unknown): boolean {
  return value !== null && value !== undefined && /^[^.=,\s]+$/.test(name);
}
