/** The reference's `print_rollout_stat`: the current batch in a few labelled lines. */
import type { PoolInformation } from "../functions/core/protocol.ts";

/** A label and its text, in the order of printing. The labels are the reference's, word for word. */
export type RolloutStat = readonly (readonly [label: string, text: string])[];

export function rolloutStat(pool: PoolInformation, engineUrl: string): RolloutStat {
  const tasks = Object.entries(pool.completed_tasks_details);
  const episodes = tasks.reduce((sum, [, uuids]) => sum + uuids.length, 0);
  const average = tasks.length === 0 ? 0 : episodes / tasks.length;
  return [
    ["Completed tasks: (current) / (required)", `${pool.completed_tasks} / ${pool.completed_task_target}`],
    [
      "Completed episodes: (current) / (required)",
      `${pool.completed_episodes} / ${pool.completed_episode_target}`,
    ],
    [
      "Average episodes per task: (current) / (expected)",
      `${average.toFixed(2)} / ${pool.task_expected_num_repeat}`,
    ],
    // The reference puts the target of all tasks here, not that of the non-dummy ones.
    [
      "Completed num-dummy tasks: (current) / (required)",
      `${pool.completed_non_dummy_tasks} / ${pool.completed_task_target}`,
    ],
    [
      "Tasks (Number of episodes completed for each task)",
      tasks.map(([id, uuids]) => `Task-${id} (${uuids.length})  `).join(""),
    ],
    ["Hint", `Please run \`ajet-swarm overwatch --swarm-url=${engineUrl}\` to get more details.`],
  ];
}
