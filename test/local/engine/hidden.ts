/** What the recording did between its steps without writing it down; read off the answers that followed. */
import type { Replaying } from "./replaying.ts";

export type Hidden = (replay: Replaying) => Promise<unknown>;
/** By situation, then by step: what happens before it; `after` the step's own `before` where the order matters. */
type HiddenSteps = Readonly<Record<number, Hidden | { readonly after: Hidden }>>;

const call: Hidden = (replay) => replay.worker.callModel(replay.uuidOf("<episode-1>"));
const claims =
  (count: number, client: string): Hidden =>
  async (replay) => {
    for (let one = 0; one < count; one += 1) await replay.worker.claim({ client });
  };
const seconds =
  (count: number): Hidden =>
  (replay) =>
    replay.advance(count);
/** A whole episode, and the trainer's report of it. */
const episode =
  (client: string, task: string, reward: number, policyTask?: string): Hidden =>
  async (replay) => {
    await replay.worker.run(task, reward, { client, ...(policyTask === undefined ? {} : { policyTask }) });
    await replay.advance(0.5);
  };
const all =
  (...acts: readonly Hidden[]): Hidden =>
  async (replay) => {
    for (const act of acts) await act(replay);
  };
const newUuid =
  (name: string): Hidden =>
  async (replay) =>
    replay.bindUnknown(name);

const rewards = ["null", "list", "empty_list", "int", "bool", "string_number", "string", "object"];
const keyOfFinishedAndUnknown: HiddenSteps = {
  0: async (replay) => replay.bind("<episode-1>", await replay.worker.run("task-1", 1)),
  1: newUuid("<episode-2>"),
};
const unknownEpisode: HiddenSteps = { 0: newUuid("<episode-1>") };
const replayed: HiddenSteps = { 2: call };

export const hidden: Readonly<Record<string, HiddenSteps>> = {
  end_abort_can_continue_unknown_episode_offline: unknownEpisode,
  end_abort_can_continue_unknown_episode_booting: unknownEpisode,
  end_abort_can_continue_unknown_episode_rolling: unknownEpisode,
  end_abort_can_continue_unknown_episode_rolling_post: unknownEpisode,
  end_abort_can_continue_unknown_episode_weight_syncing: unknownEpisode,
  end_abort_can_continue_unknown_episode_weight_exporting: unknownEpisode,
  connection_after_500: unknownEpisode,
  abort_unknown: unknownEpisode,
  claim_bad_episode_type: { 3: claims(4, "client-x") },
  claim_eval_then_train: { 5: claims(3, "client-b") },
  claim_just_after_rolling_begins: {
    0: { after: async (replay) => replay.engine.setStatus("ENGINE.ROLLING") },
    1: seconds(1.5),
  },
  pool_lags_behind_the_end: { 1: call },
  end_task_id_in_metadata_missing_or_other: { 7: call },
  ...Object.fromEntries(rewards.map((reward) => [`end_reward_${reward}`, { 1: call }])),
  end_in_rolling_post: { 2: call },
  end_fields_missing_or_wrong: { 1: call },
  end_slow_trainer: { 1: call },
  // The recording's trainer was told to sync a moment after the first end was answered.
  end_twice_while_slow: { 1: call, 3: seconds(1.5) },
  end_after_reclaim_by_the_same_client: { 2: claims(3, "client-x") },
  abort_ok_and_claim_again: { 5: claims(3, "client-b") },
  abort_twice_with_another_claim_between: { 2: claims(3, "client-x") },
  pool_after_ended_episodes: {
    0: episode("client-a", "task-1", 1),
    1: all(episode("client-a", "task-2", 0, "task-2"), episode("client-b", "task-2", 1, "task-2")),
    2: episode("client-b", "task-3", 0, "task-9"),
    3: (replay) => replay.worker.claim({ client: "client-a", policyTask: "task-4" }),
    4: async ({ engine, worker }) => {
      const claimed = engine.inspect().episodes.find((one) => one.episode_status === "claimed");
      await worker.abort("client-a", claimed?.episode_uuid ?? "");
    },
  },
  pool_after_weight_sync: {
    0: all(episode("client-a", "task-1", 1, "task-1"), episode("client-a", "task-1", 0, "task-1")),
    3: all(seconds(1.5), episode("client-a", "task-5", 1)),
  },
  pool_after_stop: { 0: episode("client-x", "task-1", 1) },
  enough_tasks_moves_on: {
    1: all(episode("c", "task-1", 1), episode("c", "task-1", 1), episode("c", "task-2", 0)),
    2: all(episode("c", "task-2", 0), seconds(6)),
  },
  idle_discard: { 6: claims(3, "client-b") },
  idle_discard_put_off_by_model_calls: {
    1: async (replay) => {
      for (let one = 0; one < 12; one += 1) {
        await call(replay);
        await replay.advance(1.5);
      }
    },
  },
  // The training process died before the three requests that then wait for 5 minutes.
  end_without_acknowledgement_for_five_minutes: { 3: async (replay) => replay.engine.killTrainer() },
  model_key_of_finished_or_unknown_episode: keyOfFinishedAndUnknown,
  new_model_key_of_finished_or_unknown_episode: keyOfFinishedAndUnknown,
  replay_latest_model_call: replayed,
  new_replay_latest_model_call: replayed,
};
