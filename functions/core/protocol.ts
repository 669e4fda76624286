/**
 * The engine's wire protocol as zod schemas: every field has the protocol's own name and default, unknown fields are
 * ignored, unknown statuses and fail causes survive. Times on the wire are seconds.
 */
import * as z from "zod";
import type { WorkflowOutput } from "../contract/task.ts";
import { shorten } from "./errors.ts";

const text = z.string().default("");
const count = z.number().default(0);
/** Words of the engine's that are kept and shown: no page of an error fits an item. */
const short = (limit: number) => z.string().transform((words) => shorten(words, limit));
/** Ids are part of items and of further calls: one that was cut would name something else. */
const id = z.string().max(256);

/** A map whose names are others' choice. Unlike in `z.record`, a task may be called `__proto__`. */
function byName<Value>(value: z.ZodType<Value>): z.ZodType<Record<string, Value>> {
  const entries = z.array(z.tuple([z.string(), value]));
  return z.unknown().transform((given, context) => {
    const isMap = typeof given === "object" && given !== null && !Array.isArray(given);
    const parsed = entries.safeParse(isMap ? Object.entries(given) : given);
    if (parsed.success) return Object.fromEntries(parsed.data) as Record<string, Value>;
    for (const { path, message } of parsed.error.issues)
      context.addIssue({
        code: "custom",
        message: isMap ? message : "expected a map",
        path: path.slice(0, 1),
      });
    return z.NEVER;
  });
}

/** The statuses known today. Newer engines may name others, so a status is any string. */
export const engineStatuses = [
  "ENGINE.OFFLINE",
  "ENGINE.BOOTING",
  "ENGINE.ROLLING",
  "ENGINE.ROLLING_POST",
  "ENGINE.WEIGHT_SYNCING",
  "ENGINE.WEIGHT_EXPORTING",
] as const;
/** Said by the client, not by an engine: it does not answer. */
export const CANNOT_CONNECT = "ENGINE.CANNOT_CONNECT";

export { type Task, taskSchema, type WorkflowOutput, workflowOutputSchema } from "../contract/task.ts";

export type EpisodeType = "train" | "eval";

/** Bounds how many different tasks of one client may be in the engine's batch: `ratio × expected_batch_size`. */
export interface ThrottlePolicy {
  readonly ratio: number;
  readonly expected_batch_size: number;
  readonly expected_num_repeat: number;
  readonly current_task_id: string;
}

export const engineStatusSchema = z.object({
  engine_status: short(200).default("unknown"),
  engine_status_detail: short(2000).nullish().default(null),
  global_step: z.number().nullish().default(null),
});
export type EngineStatus = z.infer<typeof engineStatusSchema>;

export interface ClaimRequest {
  readonly client_uuid: string;
  readonly episode_type: EpisodeType;
  /** Seconds without model activity after which the engine takes the episode back. */
  readonly discard_episode_timeout: number;
  readonly throttle_policy: ThrottlePolicy | null;
}
export const claimAnswerSchema = z.object({
  success: z.boolean(),
  client_uuid: z.string(),
  episode_uuid: id,
  openai_base_url: text,
  openai_api_key: text,
  fail_cause: short(2000).default(""),
});
export type ClaimAnswer = z.infer<typeof claimAnswerSchema>;

export interface EndRequest {
  readonly client_uuid: string;
  readonly episode_uuid: string;
  readonly task_id: string;
  readonly workflow_output: WorkflowOutput;
  /**
   * Newer engines: enters this client uuid in the list of those that a weight sync may wait for. Default false, since
   * every attempt is a client of its own.
   */
  readonly declare_client_active?: boolean | undefined;
}

export const successSchema = z.object({ success: z.boolean() });
export const canContinueSchema = z.object({ can_continue: z.boolean() });

/** `optional_task_id` is the task id of the claim's throttle policy. */
export const episodeStatusSchema = z.object({
  episode_uuid: z.string(),
  episode_status: text,
  episode_type: text,
  openai_base_url: text,
  openai_api_key: text,
  client_uuid: text,
  latest_activity_timestamp: z.number().default(0),
  discard_episode_timeout: z.number().default(-1),
  llm_call_count: count,
  optional_task_id: z.string().nullish().default(""),
});
export type EpisodeStatus = z.infer<typeof episodeStatusSchema>;
export const episodeBufferSchema = z.object({ buffer: z.array(episodeStatusSchema).default([]) });

const strings = z.array(z.string());
export const runningEpisodeSchema = z.object({
  episode_status: text,
  time_since_last_activity: text,
  discard_episode_timeout: text,
  llm_call_count: z.union([z.string(), z.number()]).default(""),
  client_uuid: text,
  optional_task_id: z.string().nullish().default(""),
});

/** Of newer engines: the clients that a weight sync may wait for, and whether each has agreed to one. */
const clientInstructionSchema = z.object({
  active_clients: z
    .array(z.object({ client_uuid: z.string(), allowed_sync_weight: z.boolean().nullish() }))
    .default([]),
});

/** The engine's current batch. It lags behind the answers of `end_episode` by up to 12 s. */
export const poolInformationSchema = z.object({
  sample_collection_method: short(200).default(""),
  completed_episodes: count,
  completed_episode_target: count,
  completed_tasks: count,
  completed_task_target: count,
  completed_non_dummy_tasks: count,
  completed_non_dummy_task_target: count,
  task_expected_num_repeat: count,
  completed_tasks_details: byName(strings).default({}),
  completed_tasks_client_uuids: byName(strings).default({}),
  // Newer engines only, and nothing depends on them: another shape must not make the pool unreadable.
  completed_tasks_rewards: byName(z.array(z.number().nullable().catch(null)))
    .optional()
    .catch(undefined),
  training_model_path: short(1000).nullish().catch(null),
  swarm_client_instruction: clientInstructionSchema.nullish().catch(null),
  running_episode_details: byName(runningEpisodeSchema).nullish().default(null),
  engine_status: short(200).nullish().default(null),
  global_step: z.number().nullish().default(null),
  booting_start_time: z.number().nullish().default(null),
});
export type PoolInformation = z.infer<typeof poolInformationSchema>;

/** `error` is there where the engine says what was wrong with the config. */
export const syncAnswerSchema = z.object({ success: z.boolean(), error: short(2000).nullish() });
export const startAnswerSchema = z.object({
  success: z.boolean(),
  pid: z.number().nullish(),
  error: short(2000).nullish(),
});
/** Older engines answer null. */
export const stopAnswerSchema = z.object({ success: z.boolean() }).nullable();
export type SyncAnswer = z.infer<typeof syncAnswerSchema>;
export type StartAnswer = z.infer<typeof startAnswerSchema>;
export type StopAnswer = z.infer<typeof stopAnswerSchema>;

/** Of newer engines. `failure_reason` is there where the engine says why it did not. */
export const agreeAnswerSchema = z.object({ success: z.boolean(), failure_reason: z.string().nullish() });
export type AgreeAnswer = z.infer<typeof agreeAnswerSchema>;

export const codeAnswerSchema = z.object({
  success: z.boolean(),
  message: z.string().nullish(),
  /** Where the engine has put the code, on its own machine. */
  temp_ajet_code_path: z.string().nullish(),
});
export type CodeAnswer = z.infer<typeof codeAnswerSchema>;

export const experimentDirSchema = z.object({ server_experiment_dir: z.string().nullable() });

/** A line that the engine's terminal shows for 30 s. */
export const verboseLogSchema = z.object({
  // Unix seconds, or the engine's own rendering of the time.
  timestamp: z.union([z.number(), z.string()]).nullish().default(null),
  tag: text,
  message: text,
});
export type VerboseLog = z.infer<typeof verboseLogSchema>;
export const verboseLogsSchema = z.object({ entries: z.array(verboseLogSchema) });
/** Whatever it answers, the line was taken. */
export const anyAnswerSchema = z.unknown();
