/** A rollout as the body of a message. */

import type { EpisodeType, Task } from "../../functions/core/protocol.ts";
import { type Envelope, encodeMessage } from "../../functions/core/rollout/envelope.ts";

export interface BodyFacts {
  readonly run: string;
  readonly repeat: number;
  readonly episodeType: EpisodeType;
  readonly discardTimeout: number | undefined;
}

export function bodyOf(task: Task, facts: BodyFacts): string {
  const envelope: Envelope = {
    task,
    repeat: facts.repeat,
    run: facts.run,
    ...(facts.episodeType === "eval" ? { episode_type: "eval" } : {}),
    ...(facts.discardTimeout === undefined ? {} : { discard_episode_timeout: facts.discardTimeout }),
  };
  return encodeMessage(envelope);
}

/** The key under which the rollout function knows this rollout; the table's items carry it. */
export function keyOf(
  task: Task,
  { run, repeat, episodeType }: Pick<BodyFacts, "run" | "repeat" | "episodeType">,
): string {
  return `run/${run}/${episodeType}/${repeat}/${task.task_id}`;
}
