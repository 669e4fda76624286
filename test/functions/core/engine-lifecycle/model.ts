/** A world of processes that die, sleep and overlap, with an engine and a clock of its own. Seeded. */
import type { DrivePorts } from "../../../../functions/core/engine-lifecycle/drive-step.ts";
import type { DrivenEngine } from "../../../../functions/core/engine-lifecycle/engine-calls.ts";
import type {
  Desired,
  EngineStateStore,
  Observed,
} from "../../../../functions/core/engine-lifecycle/engine-state.ts";
import type { LeaseRecord, LeaseStore } from "../../../../functions/core/engine-lifecycle/lease.ts";
import { EngineError } from "../../../../functions/core/errors.ts";
import type { EngineStatus } from "../../../../functions/core/protocol.ts";
import { CANNOT_CONNECT, poolInformationSchema } from "../../../../functions/core/protocol.ts";
import { createRandom } from "../../../../local/random.ts";
import { VirtualClock } from "../../../support/virtual-clock.ts";
import { ModelEngine } from "./model-engine.ts";

const never = <T>() => new Promise<T>(() => undefined);

/** How often what goes wrong, from 0 to 1. */
export interface Chaos {
  readonly crash: number;
  readonly freeze: number;
  readonly lostCall: number;
  readonly badBoot: number;
  readonly outage: number;
}
export const calm: Chaos = { crash: 0, freeze: 0, lostCall: 0, badBoot: 0, outage: 0 };
export const rough: Chaos = { crash: 0.03, freeze: 0.03, lostCall: 0.3, badBoot: 0.3, outage: 0.05 };

export class World {
  readonly clock = new VirtualClock(1_000_000);
  readonly engine = new ModelEngine(this);
  chaos: Chaos = calm;
  /** Each process's clock is off by at most so much. */
  skewMs = 0;
  desired: Desired | undefined;
  observed: Observed | undefined;
  lease: LeaseRecord | undefined;
  /** Text of what happened, for a seed that fails. */
  readonly story: string[] = [];
  readonly #random: () => number;

  constructor(seed: number) {
    this.#random = createRandom("lifecycle", seed);
  }

  chance(probability: number): boolean {
    return this.#random() < probability;
  }
  below(limit: number): number {
    return Math.floor(this.#random() * limit);
  }
  tell(what: string): void {
    this.story.push(`${(this.clock.now() - 1_000_000) / 1000} s: ${what}`);
  }

  want(wish: { state: "running"; restart?: string; total_steps?: number } | { state: "stopped" }): void {
    const generation = (this.desired?.generation ?? 0) + 1;
    const common = { v: 1 as const, generation, set_at: this.clock.now() };
    this.desired =
      wish.state === "stopped"
        ? { ...common, state: "stopped" }
        : { ...common, total_steps: 1000, ...wish, config: "ajet: {}", hash: `hash-${generation}` };
    this.tell(`wanted ${JSON.stringify(wish)}`);
  }

  /** One invocation of the function: its own ports, which may die or sleep at every point. */
  process(id: string, seconds = 900): Process {
    const aheadMs = this.skewMs === 0 ? 0 : this.below(2 * this.skewMs) - this.skewMs;
    return new Process(this, id, { until: this.clock.now() + seconds * 1000, aheadMs });
  }
}

export class Process {
  readonly id: string;
  /** By its own clock. */
  readonly endsAt: number;
  readonly #world: World;
  readonly #until: number;
  readonly #aheadMs: number;
  #dead = false;
  #frozenUntil = 0;

  constructor(world: World, id: string, { until, aheadMs }: { until: number; aheadMs: number }) {
    this.#world = world;
    this.id = id;
    this.#until = until;
    this.#aheadMs = aheadMs;
    this.endsAt = until + aheadMs;
  }

  get clock() {
    const { clock } = this.#world;
    return {
      now: () => clock.now() + this.#aheadMs,
      sleep: async (ms: number, signal?: AbortSignal) => {
        await clock.sleep(ms, signal);
        await this.#alive();
      },
    };
  }

  /** Dies, sleeps, or goes on. */
  async #point(what: string): Promise<void> {
    const { chaos } = this.#world;
    if (this.#world.chance(chaos.crash)) {
      this.#dead = true;
      this.#world.tell(`${this.id} dies at ${what}`);
    } else if (this.#world.chance(chaos.freeze)) {
      this.#frozenUntil = this.#world.clock.now() + this.#world.below(1200) * 1000;
      this.#world.tell(`${this.id} freezes at ${what} until ${(this.#frozenUntil - 1_000_000) / 1000} s`);
    }
    await this.#alive();
  }

  async #alive(): Promise<void> {
    const { clock } = this.#world;
    while (clock.now() < this.#frozenUntil) await clock.sleep(this.#frozenUntil - clock.now());
    if (this.#dead || clock.now() > this.#until) await never();
  }

  async #guarded<T>(what: string, act: () => T | Promise<T>): Promise<T> {
    await this.#point(`before ${what}`);
    const value = await act();
    await this.#point(`after ${what}`);
    return value;
  }

  get leases(): LeaseStore {
    const world = this.#world;
    return {
      read: () => this.#guarded("reading the lease", () => world.lease),
      write: (_name, previous, next) =>
        this.#guarded("writing the lease", () => {
          const stands = JSON.stringify(world.lease) === JSON.stringify(previous);
          if (stands) world.lease = next;
          return stands;
        }),
    };
  }

  get states(): EngineStateStore {
    const world = this.#world;
    return {
      readDesired: async () => ({ desired: world.desired }),
      readObserved: () => this.#guarded("reading what is observed", () => world.observed),
      writeObserved: (_engine, previous, next) =>
        this.#guarded(`writing version ${next.version}`, () => {
          const found = world.observed;
          const stands = found?.version === previous?.version && (found?.token ?? 0) <= next.token;
          if (stands) world.observed = next;
          return stands;
        }),
    };
  }

  get engine(): DrivenEngine {
    const { engine } = this.#world;
    const status = async (): Promise<EngineStatus> => {
      await this.#point("status");
      const engine_status = engine.reachable ? engine.status : CANNOT_CONNECT;
      return {
        engine_status,
        engine_status_detail: null,
        global_step: engine.reachable ? engine.step : null,
      };
    };
    return {
      status,
      syncCode: () => this.#call("code", () => ({ success: true })),
      syncConfig: (config) => this.#call("sync", () => engine.sync(config)),
      start: () => this.#call("start", () => engine.start()),
      stop: () => this.#call("stop", () => engine.stop()),
    };
  }

  /** A call may not get through, arrive late, or act with its answer lost. */
  async #call<T>(name: string, act: () => T): Promise<T> {
    const world = this.#world;
    const sentBefore = this.#frozenUntil;
    await this.#point(`sending ${name}`);
    if (!world.engine.reachable)
      throw new EngineError({ failure: "unreachable", call: name, detail: "down" });
    if (!world.chance(world.chaos.lostCall)) {
      world.tell(`${this.id} ${name}`);
      const answer = act();
      await this.#point(`the answer to ${name}`);
      return answer;
    }
    const fate = world.below(3);
    world.tell(`${this.id} ${name} ${["lost", "acts, answer lost", "arrives late"][fate]}`);
    if (fate === 1) act();
    // Who slept before sending had less time left: a minute is what a call may be on its way then.
    const slept = sentBefore !== this.#frozenUntil;
    if (fate === 2) void world.clock.sleep(world.below(slept ? 50 : 590) * 1000).then(() => swallow(act));
    await world.clock.sleep(world.below(600) * 1000);
    await this.#alive();
    throw new EngineError({ failure: "unclear", call: name, detail: "no answer" });
  }

  ports(lease: DrivePorts["lease"]): DrivePorts {
    const { engine } = this.#world;
    const done = () => (engine.trainers > 0 ? Math.floor(this.#world.clock.now() / 60_000) : 0);
    return {
      clock: this.clock,
      engine: this.engine,
      states: this.states,
      lease,
      log: () => undefined,
      // A trainer that lives gets on; the pool of a dead one stands still.
      pool: async () => poolInformationSchema.parse({ completed_episodes: done() }),
      waiting: async () => 5,
      code: async () => new Uint8Array(1),
    };
  }
}

function swallow(act: () => unknown): void {
  try {
    act();
  } catch {
    // Nobody waits for this answer any more.
  }
}
