/** Looks at the engine's pool again and again, and remembers what it has shown. */
import type { Engine } from "../../functions/core/engine.ts";
import type { PoolInformation } from "../../functions/core/protocol.ts";

const LOOK_MS = 400;

export interface PoolSeen {
  /** Episodes that stood in `completed_tasks_details`: only the trainer writes those. */
  readonly episodes: ReadonlySet<string>;
  /** Ids of the tasks that those stood under. */
  readonly tasks: ReadonlySet<string>;
  /** Unix ms at which the engine was first seen out of its rolling states. */
  readonly left: readonly number[];
  /** How often the step was seen to rise by one. */
  readonly syncs: number;
  /** By the engine's step: the tasks that were seen in its batch at once, of those whose ids begin so; the largest set. */
  batches(prefix: string): ReadonlyMap<number, ReadonlySet<string>>;
}

export class PoolWatch implements PoolSeen {
  readonly episodes = new Set<string>();
  readonly tasks = new Set<string>();
  readonly left: number[] = [];
  readonly #engine: Engine;
  readonly #batches = new Map<string, Map<number, ReadonlySet<string>>>();
  #step: number | null = null;
  #rolled = false;
  #looking: Promise<void> = Promise.resolve();
  syncs = 0;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  begin(signal: AbortSignal): void {
    this.#looking = this.#look(signal);
  }
  /** After the signal: resolves when the last look is over. */
  async end(): Promise<void> {
    await this.#looking;
  }

  batches(prefix: string): ReadonlyMap<number, ReadonlySet<string>> {
    return this.#batches.get(prefix) ?? new Map();
  }
  /** From now on tasks whose id begins so are remembered. */
  watchTasks(prefix: string): void {
    this.#batches.set(prefix, new Map());
  }

  async #look(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      // A pool that cannot be read is looked at again: it is the engine that is judged by its answers, not the watch.
      const pool = await this.#engine.pool().catch(() => undefined);
      if (typeof pool?.engine_status === "string") this.note(pool, Date.now());
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
  }

  /** Takes one reading into account. */
  note(pool: PoolInformation, now: number): void {
    for (const [task, episodes] of Object.entries(pool.completed_tasks_details)) {
      this.tasks.add(task);
      for (const episode of episodes) this.episodes.add(episode);
    }
    const rolls = /^ENGINE\.ROLLING/.test(pool.engine_status ?? "");
    if (this.#rolled && !rolls) this.left.push(now);
    this.#rolled = rolls;
    this.#noteStep(pool.global_step ?? null, now);
    this.#noteTasks(pool);
  }

  /** A sync may be too short to be seen: the step tells of it. */
  #noteStep(step: number | null, now: number): void {
    if (step !== null && this.#step !== null && step > this.#step && this.#step > 0) {
      this.syncs += step - this.#step;
      this.left.push(now);
    }
    this.#step = step;
  }

  /** Of what the server itself keeps: details and counts may still be the old batch's. */
  #noteTasks(pool: PoolInformation): void {
    const running = Object.values(pool.running_episode_details ?? {}).map(
      ({ optional_task_id }) => optional_task_id ?? "",
    );
    const tasks = [...Object.keys(pool.completed_tasks_client_uuids), ...running];
    const step = pool.global_step ?? 0;
    for (const [prefix, batches] of this.#batches) {
      const some = new Set(tasks.filter((task) => task.startsWith(prefix)));
      if (some.size > (batches.get(step)?.size ?? 0)) batches.set(step, some);
    }
  }
}
