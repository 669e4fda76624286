/** From a record of somebody's dataset to a task: `--map main_query=question,metadata.answer=answer`. */
import { createHash } from "node:crypto";
import { InvalidArgumentError } from "commander";
import { InvalidMessageError } from "../../functions/core/errors.ts";
import type { Task } from "../../functions/core/protocol.ts";
import { decodeMessage } from "../../functions/core/rollout/message.ts";
import { changedNumber, parseJson, WrittenNumber } from "./json.ts";
import { mapOption, proposedMap } from "./propose.ts";
import { type Fields, type Mapped, taskFields } from "./record.ts";

const TARGET = /^(task_id|main_query|env_type|init_messages|metadata(\.[^.=]+)*)$/;

/** Reads the option, which may be given several times. */
export function parseMap(text: string, before: readonly Mapped[] = []): readonly Mapped[] {
  const pairs = text.split(",").map((pair) => {
    const [target = "", ...rest] = pair.split("=");
    const source = rest.join("=").trim();
    if (TARGET.test(target.trim()) && source !== "") return { target: target.trim(), source };
    throw new InvalidArgumentError(
      `Expected <field of the task>=<field of the record>, found "${pair}"; the fields of a task are ${taskFields.join(", ")} and metadata.<name>.`,
    );
  });
  return [...before, ...pairs];
}

/** A record that is no task, and the mapping under which it would be one. */
export class RecordFault extends InvalidMessageError {
  readonly proposal: string | undefined;

  constructor(message: string, proposal?: string) {
    super(message);
    this.proposal = proposal;
  }
}

/**
 * The task of a record, checked as the rollout function will check it. Without a mapping the record is the task, and has
 * no other columns; with one, those that it does not name are left out. A task without a question and without messages
 * is none, unless that is allowed.
 * @throws InvalidMessageError
 */
export function taskOf(record: Fields, mapping: readonly Mapped[], allowEmptyQuery = false): Task {
  const given = mapping.length === 0 ? ownTask(record) : mappedTask(record, mapping);
  const changed = changedNumber(given);
  if (changed !== undefined) throw new RecordFault(changed);
  // By itself, a fault is named as it stands in the record.
  const task = decoded("task" in given ? { task: given } : given, mapping);
  if (!allowEmptyQuery && task.main_query.trim() === "" && task.init_messages.length === 0)
    throw new RecordFault(
      "expected a main_query or init_messages, found neither: name the column that holds the question by --map, or push " +
        "such tasks with --allow-empty-query",
    );
  return task;
}

function decoded(given: Fields, mapping: readonly Mapped[]): Task {
  try {
    return decodeMessage(JSON.stringify(given), "").task;
  } catch (error) {
    if (!(error instanceof InvalidMessageError) || mapping.length > 0) throw error;
    throw new RecordFault(error.message, proposalFor(given));
  }
}

function proposalFor(record: Fields): string | undefined {
  const proposed = proposedMap(record);
  return proposed && proposed.length > 0 ? mapOption(proposed) : undefined;
}

/** Columns that would be lost are named; an envelope's other fields are said by options here. */
function ownTask(record: Fields): Fields {
  const { task, ...others } = record;
  if (typeof task === "object" && task !== null) {
    const names = Object.keys(others);
    if (names.length === 0) return withoutNulls(task as Fields);
    throw new RecordFault(
      `expected a task, found one in an envelope with ${names.join(", ")}: take that off, and say it by an option`,
    );
  }
  const unknown = Object.keys(record).filter((name) => !isOfTask(name, record));
  if (unknown.length === 0) return withoutNulls(record);
  const found = unknown.slice(0, MOST_NAMED).map((name) => JSON.stringify(name));
  const more = unknown.length > MOST_NAMED ? ` and ${unknown.length - MOST_NAMED} more` : "";
  throw new RecordFault(
    `expected the fields of a task (${taskFields.join(", ")}), found ${found.join(", ")}${more}: say by --map what they are`,
    proposalFor(record),
  );
}

const MOST_NAMED = 8;

/** CSV's `metadata.<name>` stands both by itself and in the metadata. */
function isOfTask(name: string, { metadata }: Fields): boolean {
  if (taskFields.includes(name)) return true;
  const [first, ...rest] = name.split(".");
  return (
    first === "metadata" &&
    typeof metadata === "object" &&
    metadata !== null &&
    Object.hasOwn(metadata, rest.join("."))
  );
}

/** An exported table has every column in every row: null is how it says that there is nothing. */
function withoutNulls(task: Fields): Fields {
  return Object.fromEntries(Object.entries(task).filter(([, value]) => value !== null));
}

function mappedTask(record: Fields, mapping: readonly Mapped[]): Fields {
  const own = Object.fromEntries(
    taskFields.flatMap((name) =>
      Object.hasOwn(record, name) && record[name] !== null ? [[name, fitting(name, record[name])]] : [],
    ),
  );
  const task = mapping.reduce<Fields>((built, { target, source }) => {
    const value = valueAt(record, source);
    if (value === undefined) throw new RecordFault(`expected ${source} for ${target}, found none`);
    return withValue(built, target.split("."), fitting(target, value));
  }, own);
  return task["task_id"] === undefined ? { ...task, task_id: contentId(task) } : task;
}

/** A name with dots may be one field's, or a way into the record. */
function valueAt(record: Fields, path: string): unknown {
  if (Object.hasOwn(record, path)) return record[path] ?? undefined;
  let value: unknown = record;
  for (const name of path.split(".")) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
    value = (value as Fields)[name];
  }
  return value ?? undefined;
}

function withValue(into: Fields, [name = "", ...rest]: readonly string[], value: unknown): Fields {
  if (rest.length === 0) return Object.fromEntries([...Object.entries(into), [name, value]]);
  const inner = into[name];
  const part = typeof inner === "object" && inner !== null && !Array.isArray(inner) ? (inner as Fields) : {};
  return Object.fromEntries([...Object.entries(into), [name, withValue(part, rest, value)]]);
}

/** Ids are often numbers, and messages often JSON in a text. */
function fitting(target: string, value: unknown): unknown {
  if (target.startsWith("metadata")) return value;
  if (target !== "init_messages") return typeof value === "number" ? String(value) : asWritten(value);
  if (typeof value !== "string") return value;
  const parsed = parseJson(value);
  return "value" in parsed ? parsed.value : value;
}

/** An id is never rounded. */
function asWritten(value: unknown): unknown {
  return value instanceof WrittenNumber && /^-?\d+$/.test(value.text) ? value.text : value;
}

/** A dataset without ids gets them from its content, so that the same record has the same id in every push. */
function contentId(task: Fields): string {
  return createHash("sha256").update(JSON.stringify(task)).digest("hex").slice(0, 16);
}
