/**
 * A small model of an engine on a virtual clock: it has no check of a start, as the older real one has none, and says
 * OFFLINE with step 0 whenever the training process is gone.
 */
import { EngineError } from "../../../../functions/core/errors.ts";
import type { VirtualClock } from "../../../support/virtual-clock.ts";

/** The world that it is part of. */
interface Surroundings {
  readonly clock: VirtualClock;
  readonly chaos: { readonly badBoot: number };
  chance(probability: number): boolean;
  below(limit: number): number;
}

export class ModelEngine {
  status = "ENGINE.OFFLINE";
  step: number | null = null;
  /** Steps that a training takes; then it ends. */
  totalSteps = Number.POSITIVE_INFINITY;
  /** Training processes that live. */
  trainers = 0;
  mostTrainers = 0;
  starts = 0;
  badBoots = 0;
  reachable = true;
  #config: string | undefined;
  /** Rises with each start and stop: what was planned before is off. */
  #era = 0;
  readonly #world: Surroundings;

  constructor(world: Surroundings) {
    this.#world = world;
  }

  sync(config: string): { success: boolean } {
    if (this.status !== "ENGINE.OFFLINE")
      throw new EngineError({
        failure: "refused",
        call: "sync_train_config",
        status: 400,
        detail: "started",
      });
    this.#config = config;
    return { success: true };
  }

  start(): { success: boolean; error?: string } {
    if (this.#config === undefined) return { success: false, error: "No training config found" };
    this.starts += 1;
    this.#era += 1;
    this.status = "ENGINE.BOOTING";
    const bad = this.#world.chance(this.#world.chaos.badBoot);
    if (bad) this.badBoots += 1;
    if (bad && this.#world.chance(0.5)) return { success: false, error: "not a mapping" };
    this.trainers += 1;
    this.mostTrainers = Math.max(this.mostTrainers, this.trainers);
    this.#later(20 + this.#world.below(200), () => (bad ? this.#fallBack() : this.#roll(1)));
    return { success: true };
  }

  stop(): { success: boolean } | null {
    this.#era += 1;
    this.trainers = 0;
    this.#goOffline();
    return this.#world.chance(0.5) ? null : { success: true };
  }

  /** The status stands. */
  killTrainer(): void {
    this.trainers = 0;
    if (this.status !== "ENGINE.OFFLINE") this.#era += 1;
  }

  /** The launcher notices, as it does nearly always. */
  crash(): void {
    if (this.trainers === 0) return;
    this.#era += 1;
    this.trainers = 0;
    this.#goOffline();
  }

  /** The server's process starts anew. */
  restartServer(): void {
    this.stop();
    this.step = null;
    this.#config = undefined;
  }

  #roll(step: number): void {
    this.status = "ENGINE.ROLLING";
    this.step = step;
    this.#later(100 + this.#world.below(200), () => {
      this.status = "ENGINE.WEIGHT_SYNCING";
      this.#later(30 + this.#world.below(60), () => {
        if (step >= this.totalSteps) this.crash();
        else this.#roll(step + 1);
      });
    });
  }

  #fallBack(): void {
    this.trainers -= 1;
    this.#goOffline();
  }

  #goOffline(): void {
    this.status = "ENGINE.OFFLINE";
    this.step = 0;
  }

  #later(seconds: number, act: () => void): void {
    const era = this.#era;
    void this.#world.clock.sleep(seconds * 1000).then(() => {
      if (era === this.#era) act();
    });
  }
}
