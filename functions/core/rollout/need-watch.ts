/**
 * Whether a rollout should start now: near the end of a batch a fleet starts only what the batch needs, and `spare`
 * episodes beyond. Every process decides by itself, from the engine's pool: between two looks of a second several of them
 * may start the same need, at most as many episodes as the engine has slots free.
 */
import type { Clock } from "../clock.ts";
import type { Engine } from "../engine.ts";
import type { EngineStatus } from "../protocol.ts";
import { type BatchNeed, batchNeed } from "./batch-need.ts";

/** Between two looks, ms; a large pool is read less often, since every process reads all of it. */
const LOOK_MS = 1000;
const LOOK_MS_PER_EPISODE = 10;
const LONGEST_LOOK_MS = 10_000;
/** What a group lacks is its siblings' to give for so long; then any rollout may start in their place. */
const SIBLINGS_MS = 3000;
/** A count that shows a full batch for so long, while the engine asks for more, is wrong: an end was not delivered. */
const DOUBT_MS = 15_000;

export interface NeedPorts {
  readonly clock: Clock;
  readonly engine: Pick<Engine, "pool">;
}

interface Look {
  readonly at: number;
  readonly step: number | null;
  readonly need: BatchNeed | undefined;
  readonly lasts: number;
}

export class NeedWatch {
  readonly #ports: NeedPorts;
  readonly #spare: number;
  #looking: Promise<Look> | undefined;
  #look: Look | undefined;
  /** Starts since the last look, by task. */
  #started = new Map<string, number>();
  #refusedSince: number | undefined;

  constructor(ports: NeedPorts, spare: number) {
    this.#ports = ports;
    this.#spare = spare;
  }

  /** Counts the rollout as started where it may start. @throws EngineError where the pool cannot be read */
  async mayStart(task: string, { global_step }: EngineStatus): Promise<boolean> {
    const { need, step } = await this.#current();
    const now = this.#ports.clock.now();
    // Without a need there is nothing to keep to; a look at another batch tells nothing of this one.
    const free = need === undefined || step !== (global_step ?? null) || this.#has(need, task, now);
    if (!free) {
      this.#refusedSince ??= now;
      return false;
    }
    this.#refusedSince = undefined;
    this.#started.set(task, (this.#started.get(task) ?? 0) + 1);
    return true;
  }

  #has({ byTask, fresh, beyond }: BatchNeed, task: string, now: number): boolean {
    if ((this.#started.get(task) ?? 0) < (byTask.get(task) ?? 0)) return true;
    const others = [...this.#started].reduce(
      (sum, [name, count]) => sum + Math.max(0, count - (byTask.get(name) ?? 0)),
      0,
    );
    const refusedMs = now - (this.#refusedSince ?? now);
    const lacking = refusedMs < SIBLINGS_MS ? 0 : [...byTask.values()].reduce((sum, count) => sum + count, 0);
    return others < fresh + lacking + Math.max(0, this.#spare - beyond) || refusedMs >= DOUBT_MS;
  }

  async #current(): Promise<Look> {
    const look = this.#look;
    if (look && this.#ports.clock.now() - look.at < look.lasts) return look;
    this.#looking ??= this.#read().finally(() => {
      this.#looking = undefined;
    });
    return await this.#looking;
  }

  async #read(): Promise<Look> {
    const at = this.#ports.clock.now();
    const pool = await this.#ports.engine.pool();
    const running = Object.keys(pool.running_episode_details ?? {}).length;
    const lasts = Math.min(Math.max(LOOK_MS, running * LOOK_MS_PER_EPISODE), LONGEST_LOOK_MS);
    this.#look = { at, step: pool.global_step ?? null, need: batchNeed(pool), lasts };
    this.#started = new Map();
    return this.#look;
  }
}
