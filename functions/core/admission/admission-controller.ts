/**
 * Where the waiting rollouts of one invocation ask to be let into the engine's batch. Those that ask at about the same
 * time are decided together. Nothing is locked: the decision counts once it is written, on the version that it was
 * taken from, and is taken anew where another function was faster.
 */

import type { ThrottleSetting } from "../../contract/throttle-setting.ts";
import { isClientOf } from "../client-uuid.ts";
import type { Clock, Random } from "../clock.ts";
import type { Engine } from "../engine.ts";
import { describeError } from "../errors.ts";
import type { Log } from "../log.ts";
import type { PoolInformation } from "../protocol.ts";
import {
  type Admission,
  type AdmissionRules,
  admissionDefaults,
  decide,
  withoutClaims,
} from "./admission.ts";
import type { AdmissionState, AdmissionStore, FleetAdmission } from "./admission-item.ts";

export interface AdmissionPorts {
  readonly clock: Clock;
  readonly random: Random;
  readonly engine: Pick<Engine, "pool">;
  readonly admissions: AdmissionStore;
  readonly log: Log;
}

/** One rollout's dealings with the desk. */
export interface AdmissionRequest {
  /**
   * Whether the rollout may claim now. Asked again before each try: the place is kept meanwhile.
   * @throws EngineError where the pool cannot be read, and whatever the store throws. Nobody is admitted then.
   */
  ask(): Promise<Admission>;
  /** The rollout does without: its claim was refused, or it waits no longer. Not for a claim whose answer was lost. */
  release(): Promise<void>;
}

/** How long the desk lets askers gather, ms. */
const GATHER_MS = 5;
/** How often a decision is taken anew; then its askers wait as if throttled. */
const MOST_TRIES = 10;
/** The longest pause before the first retry, ms. It doubles, up to half a second. */
const FIRST_PAUSE_MS = 25;
/** Retries share one reading of the pool for so long, ms. */
const LONGEST_LOOK_MS = 1000;

interface Visitor {
  readonly taskId: string;
  /** The batch in which the item counts this rollout's claim, and when it last asked, unix ms. */
  counted: { readonly step: number | null; readonly at: number } | undefined;
}
interface Waiting {
  readonly visitor: Visitor;
  readonly resolve: (admission: Admission) => void;
  readonly reject: (error: unknown) => void;
}

export class AdmissionController {
  readonly #ports: AdmissionPorts;
  readonly #fleet: string;
  readonly #rules: AdmissionRules;
  #asking: Waiting[] = [];
  #leaving: { visitor: Visitor; resolve: () => void }[] = [];
  #open = false;

  constructor(
    ports: AdmissionPorts,
    fleet: { readonly fleet: string; readonly fleetId: string },
    setting: ThrottleSetting,
    times: Partial<typeof admissionDefaults> = {},
  ) {
    this.#ports = ports;
    this.#fleet = fleet.fleet;
    const isOurs = (uuid: string) => isClientOf(fleet.fleetId, uuid);
    this.#rules = { ...admissionDefaults, ...times, setting, isOurs };
  }

  request(taskId: string): AdmissionRequest {
    const visitor: Visitor = { taskId, counted: undefined };
    return { ask: () => this.#ask(visitor), release: () => this.#release(visitor) };
  }

  #ask(visitor: Visitor): Promise<Admission> {
    return new Promise((resolve, reject) => {
      this.#asking.push({ visitor, resolve, reject });
      this.#serve();
    });
  }

  async #release(visitor: Visitor): Promise<void> {
    if (visitor.counted === undefined) return;
    await new Promise<void>((resolve) => {
      this.#leaving.push({ visitor, resolve });
      this.#serve();
    });
  }

  #serve(): void {
    if (this.#open) return;
    this.#open = true;
    void this.#rounds();
  }

  async #rounds(): Promise<void> {
    while (this.#asking.length + this.#leaving.length > 0) {
      await this.#ports.clock.sleep(GATHER_MS);
      const [asking, leaving] = [this.#asking, this.#leaving];
      [this.#asking, this.#leaving] = [[], []];
      if (leaving.length > 0) await this.#letGo(leaving.map(({ visitor }) => visitor));
      for (const { resolve } of leaving) resolve();
      if (asking.length > 0) await this.#answer(asking);
    }
    this.#open = false;
  }

  async #answer(waiting: readonly Waiting[]): Promise<void> {
    try {
      const admissions = await this.#decide(waiting.map(({ visitor }) => visitor));
      for (const [index, { resolve }] of waiting.entries()) resolve(admissions[index] ?? BUSY);
    } catch (error) {
      for (const { reject } of waiting) reject(error);
    }
  }

  async #decide(visitors: readonly Visitor[]): Promise<readonly Admission[]> {
    let item = await this.#read();
    // After the item: so it is never from an earlier batch.
    let { pool, readAt } = await this.#look();
    for (let tries = 0; tries < MOST_TRIES; tries += 1) {
      const status = pool.engine_status ?? "ENGINE.ROLLING";
      if (status !== "ENGINE.ROLLING") return visitors.map(() => refused(`The engine is ${status} by now.`));
      const round = decide(item, pool, this.#askers(visitors, pool), this.#rules, readAt);
      if (round.next === undefined || (await this.#write(item, round.next))) {
        this.#count(visitors, round.verdicts, pool.global_step ?? null);
        return round.verdicts;
      }
      item = await this.#readAgain(tries);
      // A look from before the item is as good, within one batch: no place is given up that a later look did not miss.
      const old = this.#ports.clock.now() - readAt > LONGEST_LOOK_MS;
      if (old || item?.global_step !== (pool.global_step ?? null)) ({ pool, readAt } = await this.#look());
    }
    this.#ports.log("warn", "fleet's admissions are busy", { fleet: this.#fleet, tries: MOST_TRIES });
    return visitors.map(() => BUSY);
  }

  async #look(): Promise<{ pool: PoolInformation; readAt: number }> {
    const readAt = this.#ports.clock.now();
    return { pool: await this.#ports.engine.pool(), readAt };
  }

  #askers(visitors: readonly Visitor[], pool: PoolInformation) {
    const { reservationMs } = this.#rules;
    const step = pool.global_step ?? null;
    const now = this.#ports.clock.now();
    // Who has not asked for so long may have lost the place, and another rollout may have it under the same name.
    return visitors.map(({ taskId, counted }) => ({
      taskId,
      counted: counted !== undefined && counted.step === step && now - counted.at < reservationMs,
    }));
  }

  #count(visitors: readonly Visitor[], verdicts: readonly Admission[], step: number | null): void {
    const at = this.#ports.clock.now();
    for (const [index, visitor] of visitors.entries())
      if (verdicts[index]?.admitted) visitor.counted = { step, at };
  }

  /** A place that is not given back here ages out. */
  async #letGo(visitors: readonly Visitor[]): Promise<void> {
    try {
      let item = await this.#read();
      for (let tries = 0; tries < MOST_TRIES; tries += 1) {
        const next = item && withoutClaims(item, countedIn(item, visitors));
        if (next === undefined || (await this.#write(item, next))) break;
        item = await this.#readAgain(tries);
      }
    } catch (error) {
      this.#ports.log("warn", "admission could not be given back", { error: describeError(error, 300) });
    }
    for (const visitor of visitors) visitor.counted = undefined;
  }

  #read(): Promise<FleetAdmission | undefined> {
    return this.#ports.admissions.read(this.#fleet);
  }

  /** Spread, or those who got in each other's way would do so again. */
  async #readAgain(tries: number): Promise<FleetAdmission | undefined> {
    await this.#ports.clock.sleep(this.#ports.random() * Math.min(FIRST_PAUSE_MS * 2 ** tries, 500));
    return await this.#read();
  }

  #write(previous: FleetAdmission | undefined, next: AdmissionState): Promise<boolean> {
    const now = this.#ports.clock.now();
    const stamp = `${now.toString(36)}-${this.#ports.random().toString(36).slice(2, 14)}`;
    const version = (previous?.version ?? 0) + 1;
    return this.#ports.admissions.write(this.#fleet, previous, { ...next, version, stamp, changed_at: now });
  }
}

const BUSY: Admission = {
  admitted: false,
  reason: "Throttling because too many functions are being admitted at once.",
};

function refused(reason: string): Admission {
  return { admitted: false, reason };
}

/** The places of an earlier batch are gone already. */
function countedIn(item: FleetAdmission, visitors: readonly Visitor[]): string[] {
  return visitors.flatMap(({ taskId, counted }) => (counted?.step === item.global_step ? [taskId] : []));
}
