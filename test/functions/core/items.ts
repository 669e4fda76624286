/** Records of the domain for tests: each takes only what varies. */
import type { PoolInformation } from "../../../functions/core/protocol.ts";
import { poolInformationSchema } from "../../../functions/core/protocol.ts";
import type { Attempt, OpenRolloutItem, RolloutItem } from "../../../functions/core/rollout/item.ts";

export const NOW = Date.UTC(2030, 0, 1);

export function anAttempt(facts: Partial<Attempt> = {}): Attempt {
  return {
    id: "invocation-1.1",
    invocation: "invocation-1",
    episode: "episode-1",
    global_step: 1,
    discard_timeout: 240,
    claimed_at: NOW,
    expires_at: NOW + 8 * 240_000,
    receipt: "receipt-1",
    ...facts,
  };
}

export function anItem(facts: Partial<RolloutItem> = {}): RolloutItem {
  return {
    v: 1,
    fleet: "main",
    key: "run/a/train/0/task-1",
    engine: "engine-1",
    task_id: "task-1",
    repeat: 0,
    run: "a",
    episode_type: "train",
    state: "waiting",
    attempts: 0,
    tries: 0,
    history: [],
    created_at: NOW,
    changed_at: NOW,
    stamp: "stamp-1",
    ...facts,
  };
}

export function anOpenItem(
  facts: Partial<RolloutItem> = {},
  attempt: Partial<Attempt> = {},
): OpenRolloutItem {
  return { ...anItem({ state: "running", tries: 1, ...facts }), attempt: anAttempt(attempt) };
}

/** As the engine would answer: defaults filled in by the schema. */
export function aPool(facts: Partial<Record<keyof PoolInformation, unknown>> = {}): PoolInformation {
  return poolInformationSchema.parse({ engine_status: "ENGINE.ROLLING", global_step: 1, ...facts });
}

export function running(client: string): object {
  return { episode_status: "claimed", client_uuid: client };
}
