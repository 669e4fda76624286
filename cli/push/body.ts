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
