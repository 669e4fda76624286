/** From a record of somebody's dataset to a task: `--map main_query=question,metadata.answer=answer`. */
import { createHash } from "node:crypto";
import { InvalidArgumentError } from "commander";
import { InvalidMessageError } from "../../functions/core/errors.ts";
import type { Task } from "../../functions/core/protocol.ts";
import { decodeMessage } from "../../functions/core/rollout/message.ts";
import type { Fields } from "./records.ts";

/** Where a field of the task comes from. */
export interface Mapped {
  readonly target: string;
  readonly source: string;
}

const TARGET = /^(task_id|main_query|env_type|init_messages|metadata(\.[^.=]+)*)$/;
const taskFields = ["task_id", "main_query", "init_messages", "env_type", "metadata"];

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

/**
 * The task of a record, checked as the rollout function will check it. Without a mapping the record is the task.
 * @throws InvalidMessageError
 */
export function taskOf(record: Fields, mapping: readonly Mapped[]): Task {
  const given = mapping.length === 0 ? ownTask(record) : mappedTask(record, mapping);
  // By itself, a fault is named as it stands in the record.
  return decodeMessage(JSON.stringify("task" in given ? { task: given } : given), "").task;
}

/** An envelope's other fields would be lost without a word: options say them here. */
function ownTask(record: Fields): Fields {
  const { task, ...others } = record;
  if (typeof task !== "object" || task === null) return record;
  const names = Object.keys(others);
  if (names.length === 0) return task as Fields;
  throw new InvalidMessageError(
    `expected a task, found one in an envelope with ${names.join(", ")}: take that off, and say it by an option`,
  );
}

function mappedTask(record: Fields, mapping: readonly Mapped[]): Fields {
  const own = Object.fromEntries(
    taskFields.flatMap((name) => (name in record ? [[name, record[name]]] : [])),
  );
  const task = mapping.reduce<Fields>((built, { target, source }) => {
    const value = valueAt(record, source);
    if (value === undefined) throw new InvalidMessageError(`expected ${source} for ${target}, found none`);
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
  if (target !== "init_messages") return typeof value === "number" ? String(value) : value;
  if (typeof value !== "string") return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

/** A dataset without ids gets them from its content, so that the same record has the same id in every push. */
function contentId(task: Fields): string {
  return createHash("sha256").update(JSON.stringify(task)).digest("hex").slice(0, 16);
}
