/** The producer's side of `message.ts`: a rollout as the body of a queue message. */
import type { EpisodeType, Task } from "../protocol.ts";

export interface Envelope {
  readonly task: Task;
  readonly repeat: number;
  readonly run: string;
  readonly episode_type?: EpisodeType;
  readonly discard_episode_timeout?: number;
}

/** SQS takes 1 MiB a message. */
export const BODY_LIMIT_BYTES = 1_048_576;

/** Characters beyond the basic plane, and the two that SQS refuses, are written as JSON escapes. */
export function encodeMessage(envelope: Envelope): string {
  return JSON.stringify(envelope).replace(
    /[\ud800-\udfff\ufffe\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16)}`,
  );
}

/** All repeats of one task stand together, so that groups complete early. */
export function* envelopes(
  tasks: Iterable<Task>,
  options: { run: string; repeats: number; episodeType?: EpisodeType },
): Generator<Envelope> {
  for (const task of tasks)
    for (let repeat = 0; repeat < options.repeats; repeat += 1)
      yield {
        task,
        repeat,
        run: options.run,
        ...(options.episodeType === "eval" ? { episode_type: "eval" as const } : {}),
      };
}
