/**
 * How an agent outside of the rollout function is called: the HTTP contract of Amazon Bedrock AgentCore Runtime
 * (`POST /invocations`, `GET /ping`) with the `_rollout` object of `agentcore-rl-toolkit`. A Lambda function gets the same
 * JSON as its event. `docs/agent-contract.schema.json` is made of these schemas.
 */
import * as z from "zod";
import { taskSchema } from "./task.ts";

/** Rises when something that an agent may rely on changes; new optional fields leave it as it is. */
export const AGENT_CONTRACT_VERSION = 1;

/** Names the attempt, made 33 to 256 characters long, as AgentCore wants a session's id. */
export const SESSION_HEADER = "X-Amzn-Bedrock-AgentCore-Runtime-Session-Id";

/** Keys of a request that a task's `metadata` cannot take: there it is found under `task.metadata` alone. */
export const reservedKeys = ["prompt", "task", "_rollout", "_agentcore_runtime"] as const;

/** `status_code` of an answer: 200 where it is left out. The last two are Sortie's. */
export const answerStatus = {
  ok: 200,
  /** The episode is given back: nobody's fault, no attempt used up. */
  discard: 409,
  /** The model did not answer; `model_status` says how. */
  model: 424,
  failed: 500,
} as const;

const sortieSchema = z.object({
  version: z.literal(AGENT_CONTRACT_VERSION).describe("of this contract"),
  attempt: z.string().describe("names this try at the rollout, once and for all"),
  rollout: z.string().describe("names the rollout: the same for each of its attempts"),
  deadline: z.number().describe("unix seconds by which the answer must have arrived"),
  episode_uuid: z.string().describe("the engine's name of the episode"),
  global_step: z.number().nullable().describe("of the model's weights; null where the engine does not tell"),
  episode_type: z.enum(["train", "eval"]),
});

const rolloutSchema = z.object({
  base_url: z.string().describe("of the model under training: OpenAI-compatible, ends in /v1"),
  api_key: z.string().describe("belongs to this episode: never log it, never keep it"),
  model_id: z.string(),
  exp_id: z.string().optional().describe("the run; left out where the message names none"),
  input_id: z.string().describe("the task's id"),
  sampling_params: z.record(z.string(), z.unknown()),
  sortie: sortieSchema,
});

/** A request; beside these, each key of the task's `metadata` that is none of theirs. */
export const invocationSchema = z
  .looseObject({
    prompt: z.string().describe("the task's main_query"),
    task: taskSchema.describe("as it was pushed"),
    _rollout: rolloutSchema,
  })
  .describe("POST /invocations, or the event of a Lambda function");
export type Invocation = z.infer<typeof invocationSchema>;

const number = z.number();
/** Left loose where a wrong value has its own words elsewhere: `checkOutput` says what was found. */
export const answerSchema = z
  .looseObject({
    reward: z
      .union([number, z.array(number)])
      .nullish()
      .describe("a finite number; needed, or `rewards`"),
    rewards: z
      .union([number, z.array(number)])
      .nullish()
      .describe("a number, or a list whose last value counts"),
    is_success: z.boolean().nullish(),
    metrics: z
      .record(z.string(), z.unknown())
      .nullish()
      .describe("numbers by name, for the trainer's charts"),
    metadata: z
      .record(z.string(), z.unknown())
      .nullish()
      .describe("small facts to find the rollout by; stored, so no transcript"),
    stop_reason: z.string().nullish(),
    status_code: z
      .number()
      .int()
      .nullish()
      .describe("200 (default), 409 discard, 424 the model failed, 500 failed"),
    error: z.string().nullish().describe("with status_code 424 or 500: what went wrong"),
    error_type: z.string().nullish().describe("`model` where the model failed"),
    traceback: z.string().nullish(),
    model_status: z
      .number()
      .int()
      .nullish()
      .describe("with status_code 424: the HTTP status of the model's answer, 0 for none at all"),
  })
  .describe("the answer to POST /invocations, or the result of a Lambda function");
export type AgentAnswer = z.infer<typeof answerSchema>;

/** Both directions as one JSON Schema (draft 2020-12). */
export function agentContractSchema(): object {
  const options = { io: "input" } as const;
  const { $schema, ...request } = z.toJSONSchema(invocationSchema, options);
  const { $schema: _, ...answer } = z.toJSONSchema(answerSchema, options);
  return {
    $schema,
    title: "Sortie's contract with an agent",
    version: AGENT_CONTRACT_VERSION,
    $defs: { request, answer },
  };
}
