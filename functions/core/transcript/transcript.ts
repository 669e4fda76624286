/**
 * The conversation behind one attempt, in the Agent Trajectory Interchange Format (ATIF, by the Harbor framework), as far as
 * Sortie writes it. What ATIF has no field for stands in `extra`; any other field would be refused by its readers.
 */
import * as z from "zod";

export const ATIF_VERSION = "ATIF-v1.8";

const extra = z.record(z.string(), z.unknown()).optional();

const toolCall = z.strictObject({
  tool_call_id: z.string(),
  function_name: z.string(),
  arguments: z.record(z.string(), z.unknown()),
  extra,
});
const observationResult = z.strictObject({
  source_call_id: z.string().optional(),
  content: z.string().optional(),
  extra,
});
const metrics = z.strictObject({
  prompt_tokens: z.number().optional(),
  completion_tokens: z.number().optional(),
  cached_tokens: z.number().optional(),
  /** `latency_ms`. */
  extra,
});
const step = z.strictObject({
  step_id: z.number(),
  timestamp: z.string().optional(),
  source: z.enum(["system", "user", "agent"]),
  model_name: z.string().optional(),
  message: z.string(),
  reasoning_content: z.string().optional(),
  tool_calls: z.array(toolCall).optional(),
  observation: z.strictObject({ results: z.array(observationResult) }).optional(),
  metrics: metrics.optional(),
  /** 1 for the answer of a model call, 0 for what the agent itself put into the model's mouth. */
  llm_call_count: z.number().optional(),
  /** `finish_reason`; `branch` where a call does not go on from the one before; `error` and `status` of a failed call. */
  extra,
});
export type Step = z.infer<typeof step>;

const logLine = z.object({ at: z.string(), level: z.string(), message: z.string(), facts: extra });

/** What Sortie knows of the attempt. */
const attemptSchema = z.object({
  fleet: z.string(),
  rollout: z.string(),
  run: z.string().optional(),
  task_id: z.string(),
  repeat: z.number(),
  episode_type: z.string(),
  attempt: z.string(),
  episode: z.string(),
  global_step: z.number().nullable(),
  claimed_at: z.string(),
  ended_at: z.string(),
  /** How it ended, see `docs/reasons.md`; `open` where that was not known yet. */
  reason: z.string(),
  /** What an agent threw, with the lines of its source. */
  detail: z.string().optional(),
  reward: z
    .union([z.number(), z.array(z.number())])
    .nullable()
    .optional(),
  is_success: z.boolean().nullable().optional(),
  metadata: extra,
  log_metrics: extra,
  /** What the agent logged. */
  log: z.array(logLine),
  /** Why the conversation is not all there, where it is not. */
  missing: z.string().optional(),
});
export type AttemptFacts = z.infer<typeof attemptSchema>;
export type LogLine = z.infer<typeof logLine>;

export const transcriptSchema = z.strictObject({
  schema_version: z.literal(ATIF_VERSION),
  /** The rollout's key: all of its attempts are one session. */
  session_id: z.string(),
  /** The attempt's id. */
  trajectory_id: z.string(),
  agent: z.strictObject({
    name: z.string(),
    version: z.string(),
    model_name: z.string().optional(),
    tool_definitions: z.array(z.record(z.string(), z.unknown())).optional(),
  }),
  steps: z.array(step).min(1),
  notes: z.string().optional(),
  final_metrics: z.strictObject({
    total_prompt_tokens: z.number(),
    total_completion_tokens: z.number(),
    total_cached_tokens: z.number(),
    total_steps: z.number(),
    /** `model_calls`. */
    extra,
  }),
  extra: attemptSchema,
});
export type Transcript = z.infer<typeof transcriptSchema>;
