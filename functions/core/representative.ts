/**
 * Lets one end at a time declare its client active, where the engine's weight syncs wait for its clients to agree. All
 * other ends stay inactive, or the engine would track each attempt as a client.
 */
import { asksForAgreement, lacksRepresentative } from "./agreement.ts";
import type { Clock } from "./clock.ts";
import type { CallOptions, Engine } from "./engine.ts";
import type { EndRequest, PoolInformation } from "./protocol.ts";

/** The collection method changes with a training's config only. */
const METHOD_MS = 60_000;
/** The list shows an end that declared its client active by then. */
const SHOWN_MS = 10_000;

export interface RepresentedFleet {
  readonly fleetId: string;
  readonly clock: Clock;
}

/** The same engine, whose ends see to it that the fleet has a client in the engine's list. */
export function representedEngine(engine: Engine, fleet: RepresentedFleet): Engine {
  const representative = new Representative(engine, fleet);
  return {
    ...engine,
    claim: (request, options) => {
      representative.claimed();
      return engine.claim(request, options);
    },
    end: (request, options) => representative.end(request, options),
  };
}

class Representative {
  readonly #engine: Engine;
  readonly #fleet: RepresentedFleet;
  #method = "";
  #methodAt = Number.NEGATIVE_INFINITY;
  #declaredAt = Number.NEGATIVE_INFINITY;
  #reading: Promise<PoolInformation | null> | undefined;

  constructor(engine: Engine, fleet: RepresentedFleet) {
    this.#engine = engine;
    this.#fleet = fleet;
  }

  /** Finds the method out while the episode runs: no end waits for that. */
  claimed(): void {
    if (this.#fleet.clock.now() - this.#methodAt >= METHOD_MS) void this.#pool();
  }

  async end(request: EndRequest, options?: CallOptions): Promise<void> {
    // Nothing waits between the two, so that of several ends only one declares.
    if (!(await this.#shouldDeclare()) || this.#hasDeclared()) return this.#engine.end(request, options);
    const at = this.#fleet.clock.now();
    this.#declaredAt = at;
    try {
      await this.#engine.end({ ...request, declare_client_active: true }, options);
    } catch (error) {
      if (this.#declaredAt === at) this.#declaredAt = Number.NEGATIVE_INFINITY;
      throw error;
    }
  }

  async #shouldDeclare(): Promise<boolean> {
    // Until a training's first report, its pool names no method.
    const mayAsk = this.#method === "" || asksForAgreement(this.#method);
    if (!mayAsk || this.#hasDeclared()) return false;
    const pool = await this.#pool();
    return pool !== null && lacksRepresentative(pool, this.#fleet.fleetId);
  }

  #hasDeclared(): boolean {
    return this.#fleet.clock.now() - this.#declaredAt < SHOWN_MS;
  }

  /** Null where it cannot be read. One reading serves everybody who asks meanwhile. */
  #pool(): Promise<PoolInformation | null> {
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async #read(): Promise<PoolInformation | null> {
    try {
      const pool = await this.#engine.pool();
      this.#method = pool.sample_collection_method;
      if (this.#method !== "") this.#methodAt = this.#fleet.clock.now();
      return pool;
    } catch {
      return null;
    }
  }
}
