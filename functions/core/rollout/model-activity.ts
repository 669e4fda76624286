/** What the engine knows of an episode's model calls, where the agent made them out of our sight. */
import type { Clock } from "../clock.ts";
import type { Engine } from "../engine.ts";
import { describeError } from "../errors.ts";
import type { Log } from "../log.ts";

export interface ModelActivity {
  /** Undefined where the engine does not tell. */
  readonly calls: number | undefined;
  /** Unix ms, by this machine's clock. */
  readonly lastCallAt: number | undefined;
}

const UNKNOWN: ModelActivity = { calls: undefined, lastCallAt: undefined };

/** Never throws. The engine counts the claim as activity too: without a call, nothing is said of the last one. */
export async function activityAtEngine(
  ports: { engine: Pick<Engine, "pool">; clock: Clock; log: Log },
  episode: string,
): Promise<ModelActivity> {
  try {
    const askedAt = ports.clock.now();
    const { running_episode_details: running } = await ports.engine.pool();
    if (running === null || !Object.hasOwn(running, episode)) return UNKNOWN;
    const { llm_call_count: count, time_since_last_activity: idle = "" } = running[episode] ?? {};
    const calls = count === "" || !Number.isFinite(Number(count)) ? undefined : Number(count);
    const seconds = /^\d+(\.\d+)?(?=s$)/.exec(idle)?.[0];
    const lastCallAt = calls === 0 || seconds === undefined ? undefined : askedAt - Number(seconds) * 1000;
    return { calls, lastCallAt };
  } catch (error) {
    ports.log("warn", "model calls not known", { episode, error: describeError(error, 200) });
    return UNKNOWN;
  }
}
