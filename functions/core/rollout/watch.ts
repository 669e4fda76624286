/**
 * Watches the engine on behalf of all running episodes of an invocation: as soon as the engine has left its rolling
 * states, or no longer considers an episode ours, the episode's abort signal fires.
 */

import type { Clock } from "../clock.ts";
import type { Engine } from "../engine.ts";
import { describeError } from "../errors.ts";
import type { Log } from "../log.ts";
import { CANNOT_CONNECT } from "../protocol.ts";
import { AttemptAborted } from "./agent.ts";
import type { Attempt } from "./item.ts";
import { isRolling, locateEpisode } from "./locate-episode.ts";

/** How often the status is read, and how many readings of it make one of the pool. */
const STATUS_INTERVAL_MS = 5000;
const STATUSES_PER_POOL = 3;
/** … where episodes beyond the batch's need are given up as soon as the engine waits for them. */
const SPARE_INTERVAL_MS = 1000;
const STATUSES_PER_POOL_WITH_SPARE = 15;

export interface Watched {
  readonly attempt: Attempt;
  readonly clientUuid: string;
  readonly taskId: string;
  readonly controller: AbortController;
  /** It was given up often enough: an end of the batch does not end it. */
  readonly isWaitedFor?: boolean;
}

export class EngineWatch {
  readonly #ports: { clock: Clock; engine: Engine; log: Log };
  readonly #graceMs: number | undefined;
  readonly #spare: boolean;
  readonly #episodes = new Set<Watched>();
  readonly #stop = new AbortController();
  #running = false;
  #postSince: number | undefined;

  constructor(
    ports: { clock: Clock; engine: Engine; log: Log },
    stragglerGraceSeconds: number | undefined,
    spare = 0,
  ) {
    this.#ports = ports;
    this.#spare = spare > 0;
    this.#graceMs = stragglerGraceSeconds === undefined ? undefined : stragglerGraceSeconds * 1000;
  }

  /** Returns the function that ends the watch over this episode. */
  add(episode: Watched): () => void {
    this.#episodes.add(episode);
    if (!this.#running) {
      this.#running = true;
      void this.#loop();
    }
    return () => this.#episodes.delete(episode);
  }

  /** Ends the watch for good. */
  stop(): void {
    this.#stop.abort();
  }

  async #loop(): Promise<void> {
    for (let reading = 1; !this.#stop.signal.aborted; reading += 1) {
      const interval = this.#spare ? SPARE_INTERVAL_MS : STATUS_INTERVAL_MS;
      await this.#ports.clock.sleep(interval, this.#stop.signal).catch(() => undefined);
      if (this.#stop.signal.aborted) return;
      if (this.#episodes.size === 0) {
        // Nobody looked meanwhile: the next ROLLING_POST may be another one.
        this.#postSince = undefined;
        continue;
      }
      await this.#readStatus();
      const readings = this.#spare ? STATUSES_PER_POOL_WITH_SPARE : STATUSES_PER_POOL;
      if (reading % readings === 0) await this.#readPool();
    }
  }

  async #readStatus(): Promise<void> {
    // Judge only episodes that were there before the engine was asked.
    const episodes = [...this.#episodes];
    const { engine_status: status, global_step: step } = await this.#ports.engine.status();
    if (status === CANNOT_CONNECT || status === "unknown") return;
    this.#noteStragglers(status, episodes);
    if (!isRolling(status)) {
      for (const episode of episodes) abort(episode, "engine-left-rolling", `the engine is ${status}`);
      // What it shows now is what the batch had in the end.
      await this.#readPool();
    }
    // A whole weight sync may have passed between two readings.
    else if (episodes.some(({ attempt }) => attempt.global_step !== step)) await this.#readPool();
  }

  #noteStragglers(status: string, episodes: Watched[]): void {
    const now = this.#ports.clock.now();
    this.#postSince = status === "ENGINE.ROLLING_POST" ? (this.#postSince ?? now) : undefined;
    if (this.#postSince === undefined) return;
    for (const episode of episodes) {
      const graceMs = this.#spare && !episode.isWaitedFor ? 0 : this.#graceMs;
      if (graceMs === undefined || now - this.#postSince < graceMs) continue;
      if (episode.attempt.claimed_at <= this.#postSince)
        abort(episode, "straggler", "the engine has its samples and waits for this episode");
    }
  }

  async #readPool(): Promise<void> {
    const episodes = [...this.#episodes];
    try {
      const pool = await this.#ports.engine.pool();
      for (const episode of episodes) {
        const sight = locateEpisode(episode.attempt, episode, pool, this.#ports.clock.now());
        if (sight === "batch-over")
          abort(episode, "engine-left-rolling", "the engine has gone on to another batch");
        if (sight === "lost" || sight === "missing")
          abort(episode, "episode-lost", "the engine no longer shows this episode as ours");
      }
    } catch (error) {
      this.#ports.log("warn", "pool could not be read", { error: describeError(error, 300) });
    }
  }
}

function abort(
  episode: Watched,
  reason: "engine-left-rolling" | "straggler" | "episode-lost",
  detail: string,
) {
  if (!episode.controller.signal.aborted) episode.controller.abort(new AttemptAborted(reason, detail));
}
