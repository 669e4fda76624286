/**
 * Keeps an invocation's places full: while one is free and there is time for another episode, it takes further messages
 * from the queue itself. Otherwise an invocation lasts as long as its slowest episode, and its other places stand empty.
 */

import type { Gate } from "../circuit/gate.ts";
import type { Clock } from "../clock.ts";
import type { Engine } from "../engine.ts";
import { describeError } from "../errors.ts";
import type { Log } from "../log.ts";
import type { Queue, QueueRecord } from "../queue.ts";
import type { FleetLimits } from "./context.ts";
import type { SignsOfLife } from "./heartbeat.ts";
import type { Places } from "./places.ts";
import type { RecentDurations } from "./recent-durations.ts";

/** A queue is believed to be empty after so many receives in a row without a message: SQS may miss one that is there. */
const EMPTY_RECEIVES = 2;
/** Between two receives from a queue that had nothing. Doubles up to the longest. */
const PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 16_000;
/** After a failure of the queue or the table. */
const TROUBLE_MS = 10_000;
/** While episodes run, a receive waits for a message to come: that finds more than one that answers at once. */
const RECEIVE_SECONDS = 1;

/** Claims are granted in these, or will be soon. */
const worthTaking: ReadonlySet<string> = new Set([
  "ENGINE.ROLLING",
  "ENGINE.ROLLING_POST",
  "ENGINE.WEIGHT_SYNCING",
  "ENGINE.WEIGHT_EXPORTING",
]);

export interface RefillPorts {
  readonly clock: Clock;
  readonly engine: Pick<Engine, "status">;
  readonly gate: Pick<Gate, "closedFor" | "isTripped">;
  readonly queue: Pick<Queue, "receive" | "defer">;
  readonly log: Log;
}

export interface RefillOptions {
  readonly places: Places;
  /** Unix ms when the function's time is up. */
  readonly endsAt: number;
  readonly limits: Pick<FleetLimits, "minEpisodeSeconds" | "settleMarginSeconds">;
  readonly durations: RecentDurations;
  readonly life: Pick<SignsOfLife, "received" | "disposed">;
  /** Runs a message that was taken; never rejects. Resolves to whether it could go on, for the system's part. */
  readonly run: (record: QueueRecord) => Promise<"done" | "deferred" | "trouble">;
}

export class Refill {
  readonly #ports: RefillPorts;
  readonly #options: RefillOptions;
  #empty = 0;
  #troubleUntil = 0;

  constructor(ports: RefillPorts, options: RefillOptions) {
    this.#ports = ports;
    this.#options = options;
  }

  /** Resolves when nothing runs any more and no further message is to be taken. */
  async run(): Promise<void> {
    const { places } = this.#options;
    while (!this.#isOver()) {
      if (places.free === 0) await places.freed();
      else if (await this.#mayTake()) await this.#take();
      else if (!places.isIdle) await this.#pause(PAUSE_MS);
      else break;
    }
    while (!places.isIdle) await places.freed();
  }

  /** Too little time is left for an episode as they lately were, or there is nothing to run. */
  #isOver(): boolean {
    const { endsAt, limits, durations, places } = this.#options;
    const episodeMs = Math.max(limits.minEpisodeSeconds * 1000, durations.longest());
    if (this.#ports.clock.now() + episodeMs + limits.settleMarginSeconds * 1000 > endsAt) return true;
    return places.isIdle && this.#empty >= EMPTY_RECEIVES;
  }

  async #mayTake(): Promise<boolean> {
    const { clock, engine, gate } = this.#ports;
    if (clock.now() < this.#troubleUntil) return false;
    if ((await gate.closedFor(undefined)) !== undefined || (await gate.isTripped())) return false;
    return worthTaking.has((await engine.status()).engine_status);
  }

  async #take(): Promise<void> {
    const { places } = this.#options;
    try {
      const records = await this.#ports.queue.receive(places.free, places.isIdle ? 0 : RECEIVE_SECONDS);
      this.#empty = records.length === 0 ? this.#empty + 1 : 0;
      if (records.length > 0) await this.#start(records);
      else if (!places.isIdle) await this.#pause(PAUSE_MS * 2 ** (this.#empty - 1));
    } catch (error) {
      this.#ports.log("warn", "no further messages could be taken", { error: describeError(error, 300) });
      this.#troubled();
    }
  }

  /** Listed before they run, as the event's own are: a crash must bring them back at once. */
  async #start(records: readonly QueueRecord[]): Promise<void> {
    const { life, places } = this.#options;
    try {
      await life.received(records.map(({ receipt }) => receipt));
    } catch (error) {
      await Promise.allSettled(records.map(({ receipt }) => this.#ports.queue.defer(receipt, 0)));
      for (const { receipt } of records) life.disposed(receipt);
      throw error;
    }
    for (const record of records) void places.hold(this.#run(record));
  }

  async #run(record: QueueRecord): Promise<void> {
    if ((await this.#options.run(record)) === "trouble") this.#troubled();
  }

  #troubled(): void {
    this.#troubleUntil = this.#ports.clock.now() + TROUBLE_MS;
  }

  /** Ends early when a place becomes free. */
  async #pause(ms: number): Promise<void> {
    const early = new AbortController();
    const asleep = this.#ports.clock.sleep(Math.min(ms, LONGEST_PAUSE_MS), early.signal);
    await Promise.race([asleep.catch(() => undefined), this.#options.places.freed()]);
    early.abort();
  }
}
