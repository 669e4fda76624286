/** Writes an engine's observed record: each write leaves the version before it and carries the tick's fencing token. */
import type { Clock } from "../clock.ts";
import { describeError, isUnstorable } from "../errors.ts";
import type { Log } from "../log.ts";
import type { EngineStateStore, Observed } from "./engine-state.ts";
import type { HeldLease } from "./lease.ts";

export interface KeeperPorts {
  readonly clock: Clock;
  readonly states: EngineStateStore;
  readonly lease: HeldLease;
  readonly log: Log;
}

const PAUSES_MS = [500, 2000, 5000];

export class ObservedKeeper {
  readonly #ports: KeeperPorts;
  readonly #engine: string;
  #current: Observed | undefined;

  constructor(ports: KeeperPorts, engine: string, found: Observed | undefined) {
    this.#ports = ports;
    this.#engine = engine;
    this.#current = found;
  }

  /** What stands in the table, as far as this tick knows. */
  get current(): Observed | undefined {
    return this.#current;
  }

  /** False where another tick was first: nothing more may be done then. Throws what the store throws. */
  async write(next: Observed): Promise<boolean> {
    const previous = this.#current;
    const stamped = { ...next, version: (previous?.version ?? 0) + 1, token: this.#ports.lease.token };
    if (!(await this.#ports.states.writeObserved(this.#engine, previous, stamped))) return false;
    this.#current = stamped;
    return true;
  }

  /** Records what a call brought, if need be in several tries. If it stays unknown, the intent stands. */
  async writeAnswer(next: Observed): Promise<boolean> {
    for (const pause of PAUSES_MS) {
      try {
        return await this.write(next);
      } catch (error) {
        if (isUnstorable(error)) throw error;
        const facts = { error: describeError(error, 300) };
        this.#ports.log("warn", "what the engine answered could not be recorded yet", facts);
        await this.#ports.clock.sleep(pause);
      }
    }
    return await this.write(next);
  }
}
