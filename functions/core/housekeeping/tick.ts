/** One tick of the lifecycle function: each part runs even if another fails. */
import type { Clock } from "../clock.ts";
import { messagesToEngine } from "../engine-lifecycle/engine-lines.ts";
import { describeError } from "../errors.ts";
import type { Log } from "../log.ts";
import type { Snapshot } from "./snapshot.ts";
import { type Swept, sweep } from "./sweep.ts";
import type { SweepPorts } from "./sweep-ports.ts";
import { type SnapshotPorts, takeSnapshot } from "./take-snapshot.ts";

export interface TickPorts {
  readonly clock: Clock;
  /** What `work` resolves to; undefined once that takes longer than `ms`: it goes on, and nobody waits for it. */
  readonly within: <T>(ms: number, work: Promise<T>) => Promise<T | undefined>;
  readonly log: Log;
  /** One step towards what is wanted of the engine. */
  readonly drive: () => Promise<unknown>;
  /** Agrees to a weight sync where one waits for it; after each sweep. */
  readonly agree?: () => Promise<unknown>;
  /** Exchanges lines with the engine, beside all of it. */
  readonly lines?: { begin(): void; end(): Promise<void> };
  readonly sweep: SweepPorts;
  /** Pauses fleets that have spent their budget, and resumes them. */
  readonly budget: () => Promise<void>;
  readonly snapshot: SnapshotPorts;
  /** Told of each snapshot as soon as it is taken: alarms lean on it. */
  readonly publish: (snapshot: Snapshot) => void;
}

export interface TickOptions {
  readonly engine: string;
  readonly sweepIntervalSeconds: number;
}

/** Between two sweeps of one tick. */
export const SWEEP_INTERVAL_SECONDS = 20;
/** Between two looks of a tick that takes longer, as one that starts an engine. */
const INTERVAL_MS = 60_000;
/** The sweeps of a tick end before the next tick comes: only one runs at a time, and one that is refused is gone. */
const TICK_MS = 55_000;
/** How long one sweep may wait for the engine: the next one goes on where it stopped. */
const SWEEP_PATIENCE_MS = 12_000;
/** What a sweep may take beyond that, such as for calls of a table that hangs; then the tick goes on without it. */
const SWEEP_MARGIN_MS = 5000;

export async function tick(ports: TickPorts, options: TickOptions): Promise<Snapshot | undefined> {
  return await new Tick(ports, options).run();
}

class Tick {
  readonly #ports: TickPorts;
  readonly #options: TickOptions;
  /** The sweep under way, which may have taken longer than anybody waits. */
  #sweeping: Promise<Swept | undefined> | undefined;

  constructor(ports: TickPorts, options: TickOptions) {
    this.#ports = ports;
    this.#options = options;
  }

  async run(): Promise<Snapshot | undefined> {
    const { clock, drive } = this.#ports;
    const began = clock.now();
    // Starting or stopping an engine may take minutes: the rest goes on beside it.
    const driven = new AbortController();
    const driving = this.#part("drive", drive).finally(() => driven.abort());
    let snapshot = await this.#sweepAndLook(began);
    // One tick at a time: while this one drives, no other comes, and nobody else would sweep or be heard of.
    for (let next = began + INTERVAL_MS; ; next += INTERVAL_MS) {
      await sleepUntil(clock, next, driven.signal);
      if (driven.signal.aborted) break;
      snapshot = await this.#sweepAndLook(clock.now());
    }
    await driving;
    this.#ports.lines?.begin();
    await this.#ports.lines?.end();
    return snapshot;
  }

  async #sweepAndLook(began: number): Promise<Snapshot | undefined> {
    const { budget, publish, snapshot: ports } = this.#ports;
    const { engine, sweepIntervalSeconds } = this.#options;
    const swept = await this.#sweep(SWEEP_PATIENCE_MS);
    await this.#part("budget", budget);
    const snapshot = await this.#part("snapshot", async () => {
      const taken = await takeSnapshot(ports, engine, swept?.overdue ?? new Map());
      publish(taken);
      return taken;
    });
    const open = Object.values(snapshot?.fleets ?? {}).reduce((sum, fleet) => sum + fleet.open, 0);
    if (open + (swept?.living ?? 0) > 0 && sweepIntervalSeconds > 0) await this.#sweepOn(began);
    return snapshot;
  }

  /**
   * While invocations run, sweeps more often than the schedule ticks, so that a crash is settled within two minutes: 20 s
   * until a sweep has seen the last sign of life, 60 s until one has seen 50 s of silence, and some looks at the engine.
   */
  async #sweepOn(began: number): Promise<void> {
    const { clock } = this.#ports;
    const interval = this.#options.sweepIntervalSeconds * 1000;
    for (let at = began + interval; at < began + TICK_MS; at += interval) {
      await clock.sleep(Math.max(0, at - clock.now()));
      const remaining = began + TICK_MS - clock.now();
      if (remaining <= 0) return;
      await this.#sweep(Math.min(remaining, SWEEP_PATIENCE_MS));
    }
  }

  /** Never two at once. Whatever a sweep waits for, the tick goes on, and what is left of it too. */
  async #sweep(patienceMs: number): Promise<Swept | undefined> {
    const { within, log } = this.#ports;
    this.#sweeping ??= this.#sweepOnce(patienceMs).finally(() => {
      this.#sweeping = undefined;
    });
    const swept = await within(
      patienceMs + SWEEP_MARGIN_MS,
      this.#sweeping.then((found) => ({ found })),
    );
    if (swept === undefined) log("warn", "sweep takes longer than it may", { patience_ms: patienceMs });
    return swept?.found;
  }

  async #sweepOnce(patienceMs: number): Promise<Swept | undefined> {
    const { clock, log, sweep: ports, agree } = this.#ports;
    const until = clock.now() + patienceMs;
    const swept = await this.#part("sweep", () => sweep(ports, this.#options.engine, until));
    const { overdue, living, ...counts } = swept ?? {};
    if (Object.values(counts).some((count) => count > 0)) log("info", messagesToEngine.swept, counts);
    this.#ports.lines?.begin();
    if (agree) await this.#part("agree", agree);
    return swept;
  }

  async #part<T>(name: string, work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      this.#ports.log("error", `${name} failed`, { error: describeError(error) });
      return undefined;
    }
  }
}

/** Or until the signal fires. */
async function sleepUntil(clock: Clock, at: number, signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await clock.sleep(Math.max(0, at - clock.now()), signal).catch(() => undefined);
}
