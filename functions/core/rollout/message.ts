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
  const key =
    run === undefined ? `message/${messageId}` : `run/${run}/${episodeType}/${repeat}/${task.task_id}`;
  return { key, task, repeat, run, episodeType, discardTimeout };
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
    throw new InvalidMessageError(`expected a task as JSON, found ${quote(body)} (${(error as Error).name})`);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new InvalidMessageError(`expected a JSON object with a task, found ${quote(body)}`);
  return value as Record<string, unknown>;
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
    return `${path.join(".") || "message"}: ${issue.message}`;
  });
  throw new InvalidMessageError(shorten(`not a rollout: ${faults.slice(0, 10).join("; ")}`, 1000));
}

function quote(text: string): string {
  const shown = redact(shorten(text, 40));
  return text.length > 40 ? `${JSON.stringify(shown)}… (${text.length} characters)` : JSON.stringify(shown);
}
