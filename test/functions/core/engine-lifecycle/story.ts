/** Look after look at an engine, for the pure part of its lifecycle. */

import type { Outcome } from "../../../../functions/core/engine-lifecycle/engine-calls.ts";
import {
  type Desired,
  type LifecycleSettings,
  lifecycleDefaults,
  type Observed,
  type Step,
} from "../../../../functions/core/engine-lifecycle/engine-state.ts";
import { type Faults, reconcile } from "../../../../functions/core/engine-lifecycle/reconcile.ts";
import {
  afterStart,
  afterStop,
  startIntent,
} from "../../../../functions/core/engine-lifecycle/start-record.ts";
import { type PoolInformation, poolInformationSchema } from "../../../../functions/core/protocol.ts";

export const MINUTE = 60_000;
export const NOON = 1_900_000_000_000;

export function running(
  generation = 1,
  more: { restart?: string; hash?: string; total_steps?: number } = {},
): Desired {
  return { v: 1, state: "running", config: "ajet: {}", hash: "hash", generation, set_at: 0, ...more };
}
export function stopped(generation = 1): Desired {
  return { v: 1, state: "stopped", generation, set_at: 0 };
}

interface Facts {
  readonly step?: number | null;
  readonly detail?: string;
  readonly waiting?: number | null;
  readonly pool?: Partial<PoolInformation> | null;
  readonly faults?: Faults;
}

export class Story {
  now = NOON;
  desired: Desired | undefined;
  observed: Observed | undefined;
  readonly settings: LifecycleSettings;

  constructor(desired: Desired | undefined, settings: Partial<LifecycleSettings> = {}) {
    this.desired = desired;
    this.settings = { ...lifecycleDefaults, ...settings };
  }

  /** A tick after so many minutes: what is decided, which is then recorded. */
  look(engine_status: string, facts: Facts = {}, minutes = 1): Step {
    this.now += minutes * MINUTE;
    const { detail = null, waiting = 0, pool = {} } = facts;
    const global_step = facts.step === undefined ? 1 : facts.step;
    const look = {
      now: this.now,
      status: { engine_status, engine_status_detail: detail, global_step },
      pool: pool === null ? null : poolInformationSchema.parse(pool),
      waiting,
    };
    const { desired, observed, settings } = this;
    const { step, next } = reconcile({ desired, observed, look, settings, faults: facts.faults ?? {} });
    this.observed = { ...next, version: (observed?.version ?? 0) + 1 };
    return step;
  }

  /** The start that was decided is sent, and answered: or not, if the process dies. */
  starts(outcome: Outcome | "dies" = { kind: "accepted" }): void {
    const { desired } = this;
    if (desired?.state !== "running") throw new Error("expected an engine that is wanted running");
    const intent = { ...this.known, start: startIntent(desired, this.now, this.now + 15 * MINUTE) };
    this.observed = outcome === "dies" ? intent : afterStart(intent, outcome, this.now, this.settings);
  }

  stops(outcome: Outcome = { kind: "accepted" }): void {
    this.observed = afterStop({ ...this.known, stopped_at: this.now }, outcome, this.now);
  }

  get known(): Observed {
    if (this.observed === undefined) throw new Error("expected a look before this");
    return this.observed;
  }
  get alarms(): string[] {
    return this.known.alarms.map(({ code }) => code);
  }
}
