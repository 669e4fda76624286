/** The bodies of the engine's calls. The order of fields is the order of pydantic's complaints. */
import {
  anything,
  bool,
  type Checked,
  dict,
  float,
  floats,
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

const outputBody = model({
  reward: optional(nullable(floats), () => null),
  is_success: optional(nullable(bool), () => null),
  metadata: optional(dict(anything), () => ({})),
  log_metrics: optional(dict(floats), () => ({})),
});

/** Of `end_episode` and `abort_episode`. */
export const endBody = model({
  client_uuid: required(text),
  episode_uuid: required(text),
  workflow_output: required(outputBody),
  task_id: required(text),
  declare_client_active: optional(bool, () => true),
});
export type EndBody = Checked<typeof endBody>;

export const canContinueBody = model({ client_uuid: required(text), episode_uuid: required(text) });
export const agreeBody = model({ client_uuid: required(text) });
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
