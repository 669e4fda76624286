/** The samples of one policy update, and when there are enough of them. */
import type { CollectionMethod } from "./config.ts";

export interface BatchTargets {
  readonly method: CollectionMethod;
  readonly tasks: number;
  readonly repeats: number;
}

/** What the trainer reports of its batch; the engine shows it until the next report. */
export interface PoolReport {
  sample_collection_method: string;
  completed_episodes: number;
  completed_episode_target: number;
  completed_tasks: number;
  completed_task_target: number;
  completed_non_dummy_tasks: number;
  completed_non_dummy_task_target: number;
  task_expected_num_repeat: number;
  completed_tasks_details: Record<string, string[]>;
  completed_tasks_rewards: Record<string, (number | null)[]>;
}

export const emptyReport: PoolReport = {
  sample_collection_method: "",
  completed_episodes: 0,
  completed_episode_target: 0,
  completed_tasks: 0,
  completed_task_target: 0,
  completed_non_dummy_tasks: 0,
  completed_non_dummy_task_target: 0,
  task_expected_num_repeat: 0,
  completed_tasks_details: {},
  completed_tasks_rewards: {},
};

/** Whether the clients that are active agreed to a weight sync; only two methods ask. */
export interface Agreement {
  readonly any: boolean;
  readonly all: boolean;
}

interface TaskSamples {
  readonly episodes: string[];
  readonly rewards: number[];
}

export class Batch {
  readonly #targets: BatchTargets;
  readonly #tasks = new Map<string, TaskSamples>();
  #episodes = 0;
  #complete = 0;
  #nonDummy = 0;

  constructor(targets: BatchTargets) {
    this.#targets = targets;
  }

  add(taskId: string, episodeUuid: string, reward: number): void {
    const samples = this.#tasks.get(taskId) ?? { episodes: [], rewards: [] };
    this.#tasks.set(taskId, samples);
    const wasNonDummy = this.#isNonDummy(samples);
    samples.episodes.push(episodeUuid);
    samples.rewards.push(reward);
    this.#episodes += 1;
    if (samples.episodes.length === this.#targets.repeats) this.#complete += 1;
    if (!wasNonDummy && this.#isNonDummy(samples)) this.#nonDummy += 1;
  }

  /** A task teaches nothing when all of its episodes got the same reward. */
  #isNonDummy({ rewards }: TaskSamples): boolean {
    return rewards.length >= this.#targets.repeats && rewards.some((reward) => reward !== rewards[0]);
  }

  isEnough(agreement: Agreement): boolean {
    const { method, tasks, repeats } = this.#targets;
    switch (method) {
      case "rollout_until_finish_enough_tasks":
        return this.#complete >= tasks;
      case "rollout_until_finish_enough_episodes":
        return this.#episodes >= tasks * repeats;
      case "rollout_until_finish_enough_non_dummy_tasks":
        return this.#nonDummy >= tasks;
      case "rollout_until_any_client_agree_sync_weight":
        return agreement.any;
      case "rollout_until_all_clients_agree_sync_weight":
        return agreement.all;
    }
  }

  report(): PoolReport {
    const { method, tasks, repeats } = this.#targets;
    const samples = [...this.#tasks];
    return {
      sample_collection_method: method,
      completed_episodes: this.#episodes,
      completed_episode_target: tasks * repeats,
      completed_tasks: this.#complete,
      completed_task_target: tasks,
      completed_non_dummy_tasks: this.#nonDummy,
      completed_non_dummy_task_target: tasks,
      task_expected_num_repeat: repeats,
      completed_tasks_details: Object.fromEntries(samples.map(([id, task]) => [id, [...task.episodes]])),
      completed_tasks_rewards: Object.fromEntries(samples.map(([id, task]) => [id, [...task.rewards]])),
    };
  }
}
