/** Tasks whose episodes have a heavy tail: log-normal, median 5 s, p99 75 s, at most 120 s. */
import { createRandom } from "../../local/random.ts";

/** One rollout of the load. */
export interface TailRollout {
  readonly taskId: string;
  readonly repeat: number;
  /** Seconds that the agent waits before its model call. */
  readonly seconds: number;
}

const MEDIAN_SECONDS = 5;
/** ln(75 / 5) over the 99th percentile of the normal distribution. */
const SIGMA = 1.164;
const LONGEST_SECONDS = 120;

/** All repeats of a task stand together, as GRPO pushes them. */
export function tailRollouts(options: { seed: number; tasks: number; repeats: number }): TailRollout[] {
  const random = createRandom(options.seed);
  const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  const rollouts: TailRollout[] = [];
  for (let task = 0; task < options.tasks; task += 1)
    for (let repeat = 0; repeat < options.repeats; repeat += 1) {
      const seconds = Math.min(LONGEST_SECONDS, MEDIAN_SECONDS * Math.exp(SIGMA * normal()));
      rollouts.push({ taskId: `tail-${task}`, repeat, seconds });
    }
  return rollouts;
}
