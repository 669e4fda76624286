/** Agrees to a weight sync in the fleets' name, once the rule says so or somebody has asked for it. */
import { type AgreeRule, asksForAgreement, reasonToAgree, undecidedClients } from "../agreement.ts";
import type { Clock } from "../clock.ts";
import { type Engine, POOL_LAG_MS } from "../engine.ts";
import { describeError } from "../errors.ts";
import type { Log } from "../log.ts";
import type { PoolInformation } from "../protocol.ts";
import type { Observed } from "./engine-state.ts";

/** Somebody's wish that one step's weight sync begins now: `sortie engine agree`. */
export interface AgreeRequest {
  readonly step: number;
  readonly at: number;
}

export interface AgreePorts {
  readonly clock: Clock;
  readonly engine: Pick<Engine, "pool" | "agreeSyncWeight">;
  readonly log: Log;
  readonly observed: () => Promise<Observed | undefined>;
  readonly request: () => Promise<AgreeRequest | undefined>;
}

export interface AgreeOptions {
  readonly rule: AgreeRule | undefined;
  readonly fleetIds: readonly string[];
}

/** There is one for each fleet, and a few more where ends met at a step's beginning. */
const MOST_AT_ONCE = 100;

/** Remembers since when each step rolls, between its looks. */
export class Agreement {
  readonly #options: AgreeOptions;
  #step: number | null = null;
  #stepAt = 0;

  constructor(options: AgreeOptions) {
    this.#options = options;
  }

  /** Resolves to the number of clients that agreed. Throws where the pool cannot be read. */
  async look(ports: AgreePorts): Promise<number> {
    const { rule, fleetIds } = this.#options;
    const request = await ports.request();
    if (rule === undefined && request === undefined) return 0;
    const pool = await ports.engine.pool();
    if (!asksForAgreement(pool.sample_collection_method) || pool.engine_status !== "ENGINE.ROLLING") return 0;
    const why = await this.#why(ports, pool, request);
    if (why === undefined) return 0;
    return await agreeAll(ports, undecidedClients(pool, fleetIds), why);
  }

  async #why(
    ports: AgreePorts,
    pool: PoolInformation,
    request: AgreeRequest | undefined,
  ): Promise<string | undefined> {
    const rolledFor = await this.#rolledFor(ports, pool.global_step);
    if (request?.step === pool.global_step) return "somebody asked for it";
    // Until the trainer's first report the counts are those of the batch before.
    if (rolledFor < POOL_LAG_MS) return undefined;
    return reasonToAgree(pool, this.#options.rule ?? {}, rolledFor);
  }

  /** Milliseconds, at least: from the first look that saw the step, this process's or an earlier tick's. */
  async #rolledFor({ clock, observed }: AgreePorts, step: number | null | undefined): Promise<number> {
    const now = clock.now();
    if (this.#step !== step) [this.#step, this.#stepAt] = [step ?? null, now];
    const run = (await observed())?.run;
    const seenAt = run !== undefined && run.step === step ? run.step_at : now;
    return now - Math.min(this.#stepAt, seenAt);
  }
}

/** One that fails is tried again at the next look: the engine's list says who has agreed. */
async function agreeAll(
  { engine, log }: AgreePorts,
  clients: readonly string[],
  why: string,
): Promise<number> {
  let agreed = 0;
  for (const client of clients.slice(0, MOST_AT_ONCE)) {
    try {
      const { success, failure_reason } = await engine.agreeSyncWeight(client);
      if (success) agreed += 1;
      else log("warn", "the engine refused the agreement to a weight sync", { client, why: failure_reason });
    } catch (error) {
      log("warn", "could not agree to a weight sync", { client, error: describeError(error, 300) });
    }
  }
  if (agreed > 0) log("info", "agreed to a weight sync", { clients: agreed, why });
  return agreed;
}
