/** The engine's state, and what changes it as a whole: status, start, stop, the search for idle episodes. */
import type { Clock, Random } from "../../functions/core/clock.ts";
import { createRandom } from "../random.ts";
import { type Agreement, type BatchTargets, emptyReport, type PoolReport } from "./batch.ts";
import { Clients } from "./clients.ts";
import type { EngineConfig, EngineModel } from "./config.ts";
import { Episodes } from "./episodes.ts";
import { Ledger } from "./ledger.ts";
import { after, Gate } from "./timing.ts";
import { targetsOf, totalStepsOf } from "./train-config.ts";

export interface EngineParts {
  readonly clock: Clock;
  readonly seed: number;
  readonly config: EngineConfig;
  readonly model: EngineModel;
  /** Kept over a restart. */
  readonly ledger?: Ledger;
}

/** The trainer's process. */
export interface TrainingProcess {
  readonly pid: number;
  readonly isDead: boolean;
  roll(): void;
  finishIfEnough(): void;
  finishBatch(): Promise<void>;
  post(): void;
  sync(): Promise<void>;
  leaveRolling(status: "ENGINE.WEIGHT_SYNCING" | "ENGINE.WEIGHT_EXPORTING"): void;
  endTraining(): void;
  kill(): void;
}

const rolling: ReadonlySet<string> = new Set(["ENGINE.ROLLING", "ENGINE.ROLLING_POST"]);

export class EngineState {
  readonly clock: Clock;
  readonly config: EngineConfig;
  readonly model: EngineModel;
  readonly ledger: Ledger;
  readonly episodes = new Episodes();
  readonly clients = new Clients();
  readonly waiting: Gate;
  status = "ENGINE.OFFLINE";
  detail: string | null = null;
  globalStep: number | null = null;
  /** Unix ms; set while BOOTING. */
  bootingSince: number | null = null;
  pool: PoolReport = emptyReport;
  trainConfig: string | undefined;
  /** Names of the files of the trainer's code that a client synced; undefined before. */
  trainCode: readonly string[] | undefined;
  /** Null before the first start. */
  experimentDir: string | null = null;
  /** What newer engines' terminal shows. */
  lines: { timestamp: number; tag: string; message: string }[] = [];
  latestCall: { input: unknown; output: unknown } | undefined;
  /** The port that the engine believes it has. */
  port = 0;
  ackSeconds: number;
  /** … and a reset, such as an abort brings about; undefined: as long as an output. */
  resetSeconds: number | undefined;
  readonly trainers: TrainingProcess[] = [];
  readonly #seed: number;
  readonly #uuids: Random;
  readonly #poolReadings: Random;
  /** Fires when a launcher that is about to post is stopped as well. */
  #launchers = new AbortController();
  readonly #closed = new AbortController();
  /** Fires when this process of the engine is gone. */
  readonly closed: AbortSignal = this.#closed.signal;

  constructor({ clock, seed, config, model, ledger }: EngineParts) {
    this.clock = clock;
    this.config = config;
    this.model = model;
    this.ledger = ledger ?? new Ledger();
    this.ledger.stampWith(() => ({ at: clock.now(), globalStep: this.globalStep }));
    this.waiting = new Gate(config.waitingThreads);
    this.ackSeconds = config.ackSeconds;
    this.#seed = seed;
    this.#uuids = createRandom("episodes", seed, this.ledger.entries.length);
    this.#poolReadings = createRandom("pool-readings", seed, this.ledger.entries.length);
  }

  get isRolling(): boolean {
    return rolling.has(this.status);
  }

  /** What a trainer's `update_engine_status` does: what it leaves out stays. */
  setStatus(status: string, more: { detail?: string | null; globalStep?: number | null } = {}): void {
    const [was, wasRolling] = [this.status, this.isRolling];
    this.status = status;
    if (wasRolling && !this.isRolling) this.#wipe();
    if (was === "ENGINE.BOOTING" && status !== was) this.bootingSince = null;
    this.globalStep = more.globalStep ?? this.globalStep;
    this.detail = more.detail ?? this.detail;
    this.ledger.add({ kind: "status", status });
  }

  get isNewer(): boolean {
    return this.config.engineVersion === "newer";
  }

  /** The time of booting stays. The step becomes 0 where a launcher notices that its trainer is gone. */
  stop(): void {
    const [since, stopped] = [this.bootingSince, this.trainers.splice(0)];
    for (const trainer of stopped) trainer.kill();
    this.#launchers.abort();
    this.#launchers = new AbortController();
    this.setStatus("ENGINE.OFFLINE", this.config.launcher && stopped.length > 0 ? { globalStep: 0 } : {});
    this.bootingSince = since;
    this.ledger.add({ kind: "stop" });
  }

  /** The launcher of a trainer that died sees it a moment later, whatever else has happened at the engine by then. */
  noticeDeath(): void {
    const signal = AbortSignal.any([this.#launchers.signal, this.closed]);
    after(this.clock, this.config.launcherSeconds, signal, () =>
      this.setStatus("ENGINE.OFFLINE", { globalStep: 0 }),
    );
  }

  /** Whether this reading of the pool fails inside the server. */
  poolIsUnreadable(): boolean {
    return this.config.unreadablePools > 0 && this.#poolReadings() < this.config.unreadablePools;
  }

  /** Nothing moves any more. */
  close(): void {
    this.#closed.abort();
    for (const trainer of this.trainers) trainer.kill();
  }

  targets(): BatchTargets {
    const { collectionMethod: method, batchTasks: tasks, repeats } = this.config;
    return targetsOf(this.trainConfig ?? "", { method, tasks, repeats });
  }
  slots(): number {
    const { tasks, repeats } = this.targets();
    return this.config.slots ?? tasks * repeats;
  }
  /** Steps after which the training ends; undefined for never. */
  totalSteps(): number | undefined {
    return totalStepsOf(this.trainConfig ?? "") ?? this.config.totalSteps;
  }
  agreement(): Agreement {
    return this.clients.agreement(this.clock.now());
  }

  /** The same for the same call, in whatever order the calls come. */
  randomOf(episodeUuid: string, callIndex: number): Random {
    return createRandom("call", this.#seed, episodeUuid, callIndex);
  }

  newUuid(): string {
    const hex = Array.from({ length: 32 }, () => Math.floor(this.#uuids() * 16).toString(16)).join("");
    const [a, b, c, d, e] = [
      [0, 8],
      [8, 12],
      [13, 16],
      [17, 20],
      [20, 32],
    ].map(([from, to]) => hex.slice(from, to));
    return `${a}-${b}-4${c}-8${d}-${e}`;
  }

  #wipe(): void {
    for (const { clientUuid, uuid } of this.episodes.wipe()) {
      this.ledger.add({ kind: "wiped", clientUuid, episodeUuid: uuid });
    }
    this.clients.clear();
  }
}
