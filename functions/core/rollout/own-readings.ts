/**
 * Keeps what an invocation's own readings of the pool show of the engine's batch: the lifecycle function looks every 20 s at
 * best, and may be away when a batch ends.
 */
import type { Clock } from "../clock.ts";
import type { Engine } from "../engine.ts";
import { describeError } from "../errors.ts";
import type { Log } from "../log.ts";
import type { PoolInformation } from "../protocol.ts";
import type { BatchStore } from "./batch-seen.ts";
import { noteBatch } from "./note-batch.ts";

/** Of readings that tell the same status and step, one in so long is noted. */
const INTERVAL_MS = 10_000;
/** What anybody has noted within that time is enough: many invocations share one item. */
const ENOUGH_MS = 5000;

interface ReadingPorts {
  readonly clock: Clock;
  readonly log: Log;
  readonly engine: Engine;
  readonly batches: BatchStore;
}

export class OwnReadings {
  /** Each reading of it is noted, and nobody waits for that: a write that the end of the invocation cuts is one look less. */
  readonly engine: Engine;
  readonly #ports: ReadingPorts;
  readonly #of: { readonly engine: string; readonly fleet: string; readonly fleetId: string };
  #last = { at: Number.NEGATIVE_INFINITY, what: "" };
  #noting: Promise<void> = Promise.resolve();

  constructor(ports: ReadingPorts, of: { engine: string; fleet: string; fleetId: string }) {
    this.#ports = ports;
    this.#of = of;
    this.engine = {
      ...ports.engine,
      pool: async () => {
        const pool = await ports.engine.pool();
        this.#take(pool);
        return pool;
      },
    };
  }

  /** Resolves when nothing is being written any more. */
  async settled(): Promise<void> {
    await this.#noting;
  }

  #take(pool: PoolInformation): void {
    const at = this.#ports.clock.now();
    const what = `${pool.engine_status} ${pool.global_step}`;
    if (what === this.#last.what && at - this.#last.at < INTERVAL_MS) return;
    this.#last = { at, what };
    // One after the other: each goes on from what the one before has written.
    this.#noting = this.#noting.then(() => this.#note(pool, at));
  }

  async #note(pool: PoolInformation, at: number): Promise<void> {
    const { batches, log } = this.#ports;
    await noteBatch(batches, this.#of, pool, at, ENOUGH_MS).catch((error) =>
      log("warn", "batch could not be noted", { fleet: this.#of.fleet, error: describeError(error, 300) }),
    );
  }
}
