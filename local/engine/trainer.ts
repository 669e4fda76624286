/** The training process: it drives the engine's status round its cycle. Two of them may run at once, as in reality. */
import { BatchRun } from "./batch-run.ts";
import type { EngineState, TrainingProcess } from "./engine.ts";
import { after, slept } from "./timing.ts";
import { configFault, experimentDirOf } from "./train-config.ts";

/** The trainer looks this often whether episodes are still claimed in ROLLING_POST, s. */
const POST_POLL = 0.25;

export class Trainer implements TrainingProcess {
  readonly pid: number;
  readonly #engine: EngineState;
  readonly #totalSteps: number | undefined;
  /** Aborted when what the trainer was about to do next is off. */
  #plan = new AbortController();
  #run: BatchRun | undefined;
  #step = 0;
  #collecting = false;
  #dead = false;

  constructor(engine: EngineState, pid: number) {
    this.pid = pid;
    this.#engine = engine;
    this.#totalSteps = engine.totalSteps();
  }

  boot(): void {
    after(this.#engine.clock, this.#engine.config.bootSeconds, this.#newPlan(), () => this.roll());
  }

  /** Begins the next batch. */
  roll(): void {
    this.#newPlan();
    this.#run?.end();
    this.#step += 1;
    this.#engine.setStatus("ENGINE.ROLLING", { globalStep: this.#step });
    this.#run = new BatchRun(this.#engine, this.#step, () => this.finishIfEnough());
    this.#run.begin();
    this.#collecting = true;
  }

  finishIfEnough(): void {
    if (this.#collecting && this.#run?.isEnough()) void this.finishBatch();
  }

  /** What the trainer does once it has enough samples: waits for claimed episodes, then syncs. */
  async finishBatch(): Promise<void> {
    this.post();
    const plan = this.#newPlan();
    do {
      if (!(await slept(this.#engine.clock, POST_POLL, plan))) return;
    } while (this.#engine.episodes.claimed > 0);
    await this.sync();
  }

  /** ROLLING_POST, until told otherwise. */
  post(): void {
    this.#newPlan();
    this.#collecting = false;
    this.#engine.setStatus("ENGINE.ROLLING_POST");
    this.#run?.withdrawUnclaimed();
  }

  /** Syncs weights now, whoever still runs, and rolls on; or ends the training after its last step. */
  async sync(): Promise<void> {
    const { clock, config } = this.#engine;
    this.leaveRolling("ENGINE.WEIGHT_SYNCING");
    if (!(await slept(clock, config.syncSeconds, this.#newPlan()))) return;
    if (this.#totalSteps !== undefined && this.#step >= this.#totalSteps) this.endTraining();
    else this.roll();
  }

  /** Moves to a status outside the rolling ones, until told otherwise. */
  leaveRolling(status: "ENGINE.WEIGHT_SYNCING" | "ENGINE.WEIGHT_EXPORTING"): void {
    this.#newPlan();
    this.#endBatch();
    this.#engine.setStatus(status);
  }

  /** The last step is done and the process gone: the engine goes OFFLINE, its step 0, as after a crash. */
  endTraining(): void {
    this.#endBatch();
    this.#engine.setStatus("ENGINE.OFFLINE", { globalStep: 0 });
    this.kill();
  }

  get isDead(): boolean {
    return this.#dead;
  }

  /** Dies without a word: the engine's status stands. */
  kill(): void {
    this.#dead = true;
    this.#collecting = false;
    this.#plan.abort();
    this.#run?.end();
  }

  #newPlan(): AbortSignal {
    this.#plan.abort();
    this.#plan = new AbortController();
    if (this.#dead) this.#plan.abort();
    return this.#plan.signal;
  }

  #endBatch(): void {
    this.#collecting = false;
    if (this.#engine.isRolling) this.#run?.report();
    this.#run?.end();
  }
}

/** No check of the status: in a rolling engine a second trainer starts. Newer ones check in the route. */
export function startTrainer(
  engine: EngineState,
): { success: true; pid: number } | { success: false; error: string } {
  if (engine.trainConfig === undefined) return { success: false, error: "No training config found" };
  engine.setStatus("ENGINE.BOOTING");
  engine.bootingSince = engine.clock.now();
  const error = configFault(engine.trainConfig);
  if (error !== undefined) return { success: false, error };
  engine.experimentDir = experimentDirOf(engine.trainConfig);
  const trainer = new Trainer(engine, 1000 + engine.ledger.entries.length);
  engine.trainers.push(trainer);
  engine.ledger.add({ kind: "start", pid: trainer.pid });
  trainer.boot();
  return { success: true, pid: trainer.pid };
}
