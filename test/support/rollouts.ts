/** Bodies of queue messages for tests: each takes only what varies. */

import { type Task, taskSchema } from "../../functions/core/protocol.ts";
import { encodeMessage } from "../../functions/core/rollout/envelope.ts";

export function aTask(facts: Partial<Task> = {}): Task {
  return taskSchema.parse({ task_id: "task-1", main_query: "What is 2 + 2?", ...facts });
}

/** The envelope of one rollout of run `r`. */
export function aRollout(facts: Partial<Task> = {}, repeat = 0): string {
  return encodeMessage({ task: aTask(facts), repeat, run: "r" });
}

/** The key of that rollout. */
export function keyOf(taskId = "task-1", repeat = 0): string {
  return `run/r/train/${repeat}/${taskId}`;
}
