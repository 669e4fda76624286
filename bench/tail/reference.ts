/**
 * The reference client's way, as its recorded traces show it (`test/data/traces.json`): each of its threads waits for
 * ROLLING (a look every 5 s), claims, waits 2 s after "No available episodes" and 15 s after anything else, runs its
 * rollout, ends it. It goes on starting episodes until the engine says no.
 */
import { setTimeout as delay } from "node:timers/promises";
import { createEngine } from "../../functions/adapters/engine/index.ts";
import { delayAfterRefusal, POLL_DELAY, RETRY_DELAY } from "../../functions/core/rollout/claim-rules.ts";
import { systemClock as clock } from "../../functions/system-clock.ts";
import { callModel } from "./model-call.ts";
import type { TailRollout } from "./tasks.ts";

export interface Work {
  readonly engineUrl: string;
  readonly rollouts: readonly TailRollout[];
  readonly threads: number;
  readonly seconds: number;
}

/** Resolves to the number of ended episodes once the time is up. */
export async function runReference({ engineUrl, rollouts, threads, seconds }: Work): Promise<number> {
  const engine = createEngine({ url: engineUrl, clock });
  const queue = [...rollouts];
  const until = Date.now() + seconds * 1000;
  const isOver = () => Date.now() >= until;
  let ended = 0;

  const claim = async () => {
    while (!isOver()) {
      const { engine_status: status } = await engine.status();
      if (status !== "ENGINE.ROLLING") {
        await delay(POLL_DELAY * 1000);
        continue;
      }
      const answer = await engine
        .claim({
          client_uuid: "reference",
          episode_type: "train",
          discard_episode_timeout: 240,
          throttle_policy: null,
        })
        .catch(() => undefined);
      if (answer?.success) return answer;
      await delay((answer ? delayAfterRefusal(answer.fail_cause) : RETRY_DELAY) * 1000);
    }
    return undefined;
  };
  const runOne = async (rollout: TailRollout) => {
    const grant = await claim();
    if (!grant) return;
    await delay(rollout.seconds * 1000);
    await callModel(grant.openai_base_url, grant.openai_api_key);
    const output = { reward: 1, is_success: true, metadata: {}, log_metrics: {} };
    const end = {
      client_uuid: "reference",
      episode_uuid: grant.episode_uuid,
      task_id: rollout.taskId,
      workflow_output: output,
    };
    await engine.end(end);
    ended += 1;
  };
  const thread = async () => {
    for (let rollout = queue.shift(); rollout && !isOver(); rollout = queue.shift())
      await runOne(rollout).catch(() => delay(RETRY_DELAY * 1000));
  };
  const timer = new AbortController();
  const over = delay(seconds * 1000, undefined, { signal: timer.signal });
  await Promise.race([over, Promise.all(Array.from({ length: threads }, thread))]);
  timer.abort();
  await over.catch(() => undefined);
  return ended;
}
