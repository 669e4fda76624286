/** The bodies of the engine's calls. The order of fields is the order of pydantic's complaints. */
import {
  anything,
  bool,
  type Check,
  type Checked,
  dict,
  float,
  floats,
  floatsOrObject,
  int,
  model,
  nullable,
  optional,
  required,
  text,
} from "./validation.ts";

export const claimBody = model({
  client_uuid: required(text),
  episode_type: required(text),
  discard_episode_timeout: required(float),
  throttle_policy: optional(
    nullable(
      model({
        ratio: optional(float, () => 1.5),
        expected_batch_size: required(int),
        expected_num_repeat: required(int),
        current_task_id: required(text),
      }),
    ),
    () => null,
  ),
});
export type ClaimBody = Checked<typeof claimBody>;

type Metric = number | number[] | Record<string, unknown>;

/** Of `end_episode` and `abort_episode`. */
function endBodyWith(metric: Check<Metric>) {
  const output = model({
    reward: optional(nullable(floats), () => null),
    is_success: optional(nullable(bool), () => null),
    metadata: optional(dict(anything), () => ({})),
    log_metrics: optional(dict(metric), () => ({})),
  });
  return model({
    client_uuid: required(text),
    episode_uuid: required(text),
    workflow_output: required(output),
    task_id: required(text),
    declare_client_active: optional(bool, () => true),
  });
}
/** Objects among the metrics are taken since January 2026. */
export const endBodies = { newer: endBodyWith(floatsOrObject), older: endBodyWith(floats) };
export type EndBody = Checked<typeof endBodies.newer>;

export const canContinueBody = model({ client_uuid: required(text), episode_uuid: required(text) });
export const agreeBody = model({ client_uuid: required(text) });
export const verboseLogBody = model({ tag: optional(text, () => ""), message: required(text) });
export const configBody = model({ yaml_as_string: required(text) });

/** The trainer's own calls. */
export const statusBody = model({
  engine_status: required(text),
  engine_status_detail: optional(nullable(text), () => null),
  global_step: optional(nullable(int), () => null),
});
export const isClaimedBody = model({
  episode_uuid: required(text),
  unregister_if_not_claimed: optional(bool, () => false),
});
