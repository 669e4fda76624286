/** Starts the stand-in engine: an engine that cycles by itself, and a handle to watch it and to make it misbehave. */
import type { FastifyInstance } from "fastify";
import { type EngineConfig, type EngineOptions, wholeConfig } from "./config.ts";
import { EngineState, type TrainingProcess } from "./engine.ts";
import type { Ledger, LedgerSummary } from "./ledger.ts";
import { createServer, type Traffic } from "./server.ts";
import { discardRegularly } from "./settle.ts";
import { startTrainer } from "./trainer.ts";
import { bufferView } from "./views.ts";

/** A YAML that the stand-in can start with and that changes nothing of its config. */
const anyTrainConfig = "ajet:\n  backbone: verl\n";

export interface EngineView extends Traffic {
  readonly status: string;
  readonly globalStep: number | null;
  /** Training processes that live. */
  readonly trainers: number;
  /** Episodes that are claimed now. */
  readonly open: number;
  readonly unclaimed: number;
  /** Names of the files of the trainer's code, where a client synced one. */
  readonly trainCode: readonly string[] | undefined;
  readonly episodes: ReturnType<typeof bufferView>["buffer"];
}

export interface EngineSummary extends LedgerSummary {
  readonly status: string;
  readonly globalStep: number | null;
  readonly open: number;
}

/** What `setStatus` can bring about; the trainer then stays there until it is told otherwise. */
export type TrainerStatus =
  | "ENGINE.ROLLING"
  | "ENGINE.ROLLING_POST"
  | "ENGINE.WEIGHT_SYNCING"
  | "ENGINE.WEIGHT_EXPORTING";

export interface RestartOptions {
  /** False: the process starts anew, OFFLINE, or booting if `startRolling` is set. The ledger goes on. */
  readonly keepState: boolean;
  /** How long nobody listens. */
  readonly downSeconds?: number;
}

/** Starts listening. @throws when the port is taken */
export async function startEngine(options: EngineOptions): Promise<EngineHandle> {
  const handle = new EngineHandle(options);
  await handle.listen();
  return handle;
}

export class EngineHandle {
  readonly config: EngineConfig;
  readonly ledger: Ledger;
  readonly #options: EngineOptions;
  readonly #traffic: Traffic = { arrived: 0, answered: 0 };
  #engine: EngineState;
  #server: FastifyInstance | undefined;
  #port: number;

  constructor(options: EngineOptions) {
    this.#options = options;
    this.config = wholeConfig(options.config);
    this.#port = options.port ?? 0;
    this.#engine = this.#newEngine();
    this.ledger = this.#engine.ledger;
  }

  get url(): string {
    return `http://${this.#host}:${this.#port}`;
  }

  inspect(): EngineView {
    const { status, globalStep, trainers, episodes, trainCode } = this.#engine;
    return {
      trainCode,
      ...this.#traffic,
      status,
      globalStep,
      trainers: trainers.filter(({ isDead }) => !isDead).length,
      open: episodes.claimed,
      unclaimed: episodes.unclaimed,
      episodes: bufferView(this.#engine).buffer,
    };
  }

  summary(): EngineSummary {
    const { status, globalStep, episodes } = this.#engine;
    return { ...this.ledger.summary(), status, globalStep, open: episodes.claimed };
  }

  /** The trainer moves there at once, without waiting for claimed episodes. */
  setStatus(status: TrainerStatus): void {
    const trainer = this.#trainer();
    if (status === "ENGINE.ROLLING") trainer.roll();
    else if (status === "ENGINE.ROLLING_POST") trainer.post();
    else trainer.leaveRolling(status);
  }

  /** As when the trainer has enough samples: it waits for claimed episodes, then syncs and rolls on. */
  finishBatch(): void {
    void this.#trainer().finishBatch();
  }

  /** A weight sync in the middle of running episodes; afterwards it rolls on. */
  forceWeightSync(): void {
    void this.#trainer().sync();
  }

  endTraining(): void {
    this.#trainer().endTraining();
  }

  /**
   * The training process dies without a word, whatever it was doing; a moment later its launcher posts OFFLINE with
   * step 0, unless it is gone too.
   */
  killTrainer({ launcher = this.config.launcher }: { readonly launcher?: boolean } = {}): void {
    const trainer = this.#trainer();
    trainer.kill();
    this.ledger.add({ kind: "trainer-died", pid: trainer.pid });
    if (launcher) this.#engine.noticeDeath();
  }

  /** From now on the trainer takes so long to acknowledge an output or a reset. */
  delayAcknowledgements(seconds: number): void {
    this.#engine.ackSeconds = seconds;
  }

  /** From now on the trainer takes so long over a reset alone, as aborts bring about; undefined: as for an output. */
  delayResets(seconds: number | undefined): void {
    this.#engine.resetSeconds = seconds;
  }

  /** As `sync_train_config` and `start_engine` do. */
  start(trainConfig = anyTrainConfig): void {
    this.#engine.trainConfig = trainConfig;
    startTrainer(this.#engine);
  }

  /** As `stop_engine` does. */
  stop(): void {
    this.#engine.stop();
  }

  /** Closes the listening socket and every connection, and listens on the same port again. */
  async restart({ keepState, downSeconds = 0 }: RestartOptions): Promise<void> {
    await this.#server?.close();
    this.#server = undefined;
    if (!keepState) {
      this.#engine.close();
      this.#engine = this.#newEngine(this.ledger);
    }
    this.ledger.add({ kind: "restart", keptState: keepState });
    if (downSeconds > 0) await this.#options.clock.sleep(downSeconds * 1000);
    await this.listen();
  }

  async listen(): Promise<void> {
    const faults = this.#options.faults ?? (() => undefined);
    const server = createServer({ engine: this.#engine, traffic: this.#traffic, faults });
    await server.listen({ host: this.#host, port: this.#port });
    const address = server.server.address();
    if (address !== null && typeof address === "object") this.#port = address.port;
    this.#engine.port = this.#port;
    this.#server = server;
  }

  async close(): Promise<void> {
    this.#engine.close();
    await this.#server?.close();
  }

  get #host(): string {
    return this.#options.host ?? "127.0.0.1";
  }

  #newEngine(ledger?: Ledger): EngineState {
    const { clock, seed, model } = this.#options;
    const engine = new EngineState({
      clock,
      seed,
      model,
      config: this.config,
      ...(ledger ? { ledger } : {}),
    });
    void discardRegularly(engine);
    if (!this.config.startRolling) return engine;
    engine.trainConfig = anyTrainConfig;
    startTrainer(engine);
    return engine;
  }

  #trainer(): TrainingProcess {
    const trainer = this.#engine.trainers.findLast(({ isDead }) => !isDead);
    if (trainer === undefined) throw new Error("expected a living trainer, found none: call start() first");
    return trainer;
  }
}
