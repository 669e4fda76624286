/** From the body of a queue message to the rollout that it asks for. */
import * as z from "zod";
import { InvalidMessageError, redact, shorten } from "../errors.ts";
import { type EpisodeType, type Task, taskSchema } from "../protocol.ts";

/** One queued wish to run a task once. */
export interface Rollout {
  /** Names the rollout for good: the same wish, delivered or pushed again, has the same key. */
  readonly key: string;
  readonly task: Task;
  readonly repeat: number;
  readonly run: string | undefined;
  readonly episodeType: EpisodeType;
  /** Seconds; undefined where the fleet's setting counts. */
  readonly discardTimeout: number | undefined;
}

// A key is part of a table key of at most 2,048 bytes (a DynamoDB limit), and a character takes up to 3 of them.
const taskId = z
  .string()
  .min(1, "expected a task_id that is not empty: the engine groups rewards by it")
  .max(512, "expected at most 512 characters");
const rolloutTask = taskSchema.extend({ task_id: taskId });
const envelopeSchema = z.strictObject({
  task: rolloutTask,
  repeat: z.number().int().min(0).default(0),
  run: z
    .string()
    .regex(/^[\w.:-]{1,128}$/, "expected 1 to 128 letters, digits, or any of _ . : -")
    .optional(),
  episode_type: z.enum(["train", "eval"]).default("train"),
  discard_episode_timeout: z.number().positive().max(86_400).optional(),
});

/**
 * Accepts a plain AgentJet task (`task.model_dump_json()`) or an envelope around one.
 * Lone surrogates, which no UTF-8 system can hold, become U+FFFD. Throws `InvalidMessageError`.
 */
export function decodeMessage(body: string, messageId: string): Rollout {
  const value = parseObject(body);
  const envelope =
    "task" in value ? decodeEnvelope(withoutNulls(value), true) : decodeEnvelope({ task: value }, false);
  const { task, repeat, run, episode_type: episodeType, discard_episode_timeout: discardTimeout } = envelope;
  const key = run === undefined ? `message/${messageId}` : runKey(task, { run, repeat, episodeType });
  return { key, task, repeat, run, episodeType, discardTimeout };
}

/** The key of a rollout that belongs to a run; `run/<run>/` begins those of one. */
export function runKey(
  { task_id }: Pick<Task, "task_id">,
  { run, repeat, episodeType }: { run: string; repeat: number; episodeType: EpisodeType },
): string {
  return `run/${run}/${episodeType}/${repeat}/${task_id}`;
}

/** Undefined for a message without a run. */
export function runOfKey(key: string): string | undefined {
  return /^run\/([^/]+)\//.exec(key)?.[1];
}

/** Python's pydantic writes a field that was left out as null. */
function withoutNulls(value: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).filter(([, part]) => part !== null));
}

function parseObject(body: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(body, (_key, part) => wellFormed(part));
  } catch (error) {
    throw new InvalidMessageError(
      `expected a task as JSON, found ${shapeOf(body)} (${(error as Error).name})`,
    );
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new InvalidMessageError(`expected a JSON object with a task, found ${jsonType(value)}`);
  return value as Record<string, unknown>;
}

function jsonType(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (typeof value === "string") return `a text of ${value.length} characters`;
  return `a ${typeof value}`;
}

/** One part of a JSON value, whose own parts are well-formed already. */
export function wellFormed(part: unknown): unknown {
  if (typeof part === "string") return part.toWellFormed();
  if (typeof part !== "object" || part === null || Array.isArray(part)) return part;
  if (Object.keys(part).every((name) => name.isWellFormed())) return part;
  return Object.fromEntries(Object.entries(part).map(([name, value]) => [name.toWellFormed(), value]));
}

function decodeEnvelope(value: unknown, wrapped: boolean): z.infer<typeof envelopeSchema> {
  const decoded = envelopeSchema.safeParse(value);
  if (decoded.success) return decoded.data;
  const faults = decoded.error.issues.map((issue) => {
    const path = wrapped ? issue.path : issue.path.slice(1);
    const words = issue.code === "unrecognized_keys" ? unknownKeys(issue.keys) : issue.message;
    return `${path.join(".") || "message"}: ${words}`;
  });
  throw new InvalidMessageError(shorten(`not a rollout: ${faults.slice(0, 10).join("; ")}`, 1000));
}

/** A name is told, a text in the place of one is not. */
function unknownKeys(keys: readonly string[]): string {
  const names = keys.map((key) =>
    /^[\w.-]{1,40}$/.test(key) ? `"${redact(key)}"` : `one of ${key.length} characters`,
  );
  return `Unrecognized key${keys.length > 1 ? "s" : ""}: ${names.join(", ")}`;
}

/** What a body is, without a word of it: it may hold a prompt or a secret. */
function shapeOf(body: string): string {
  const start = body.trimStart()[0];
  if (start === undefined) return body === "" ? "an empty body" : `${body.length} blank characters`;
  return `${body.length} characters that begin with ${kindOf(start)}`;
}

function kindOf(character: string): string {
  if (/[{[\]}"<]/.test(character)) return character;
  if (/\p{L}/u.test(character)) return "a letter";
  if (/[\d-]/.test(character)) return "a digit or a minus";
  return "a sign";
}
