/** The stand-in engine and the ticks that drive it, over HTTP and with a real table. */
import { onTestFinished } from "vitest";
import type { TableOptions } from "../../../../functions/adapters/table/client.ts";
import { readCode } from "../../../../functions/adapters/table/engine-code.ts";
import { createEngineStateStore, setDesired } from "../../../../functions/adapters/table/engine-state.ts";
import type { Engine } from "../../../../functions/core/engine.ts";
import { driveEngine } from "../../../../functions/core/engine-lifecycle/drive.ts";
import type { DrivePorts } from "../../../../functions/core/engine-lifecycle/drive-step.ts";
import {
  type EngineStateStore,
  lifecycleDefaults,
} from "../../../../functions/core/engine-lifecycle/engine-state.ts";
import type { EngineVersion } from "../../../../local/engine/config.ts";
import type { Faults } from "../../../../local/engine/faults.ts";
import { type EngineHandle, startEngine } from "../../../../local/engine/start.ts";
import { engineAt } from "../../../support/engine-that.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { VirtualClock } from "../../../support/virtual-clock.ts";

const BEGIN = Date.UTC(2030, 0, 1);
const BOOT_SECONDS = 90;
let names = 0;

/** An engine and the ticks that drive it; the engine's time moves only between the ticks. */
export class Lab {
  readonly name: string;
  readonly clock = new FakeClock(BEGIN);
  readonly engineClock = new VirtualClock(BEGIN);
  readonly table: TableOptions;
  readonly states: EngineStateStore;
  readonly handle: EngineHandle;
  readonly client: Engine;
  settings = lifecycleDefaults;
  waiting = 0;
  #token = 0;

  constructor(table: TableOptions, handle: EngineHandle, engineClock: VirtualClock) {
    this.table = table;
    names += 1;
    this.name = `stand-in-${names}`;
    this.handle = handle;
    this.engineClock = engineClock;
    this.states = createEngineStateStore(table);
    this.client = engineAt(handle.url, { clock: this.clock });
  }

  static async open(
    table: TableOptions,
    faults: Faults = () => undefined,
    engineVersion: EngineVersion = "newer",
  ): Promise<Lab> {
    const clock = new VirtualClock(BEGIN);
    const handle = await startEngine({
      clock,
      seed: 1,
      model: () => ({ message: { role: "assistant", content: "4" } }),
      config: { startRolling: false, bootSeconds: BOOT_SECONDS, engineVersion },
      faults,
    });
    onTestFinished(() => handle.close());
    return new Lab(table, handle, clock);
  }

  want(wish: Parameters<typeof setDesired>[2]) {
    return setDesired(this.table, this.name, wish, { now: this.clock.now() });
  }

  async tick(changes: Partial<DrivePorts> = {}) {
    this.#token += 1;
    const ports: DrivePorts = {
      clock: this.clock,
      engine: this.client,
      states: this.states,
      lease: { token: this.#token, isHeld: () => true },
      log: () => undefined,
      pool: () => this.client.pool(),
      experimentDir: () => this.client.experimentDir(),
      waiting: async () => this.waiting,
      code: (code) => readCode(this.table, this.name, code),
      ...changes,
    };
    const endsAt = this.clock.now() + 900_000;
    return driveEngine(ports, this.name, { settings: this.settings, endsAt });
  }

  async pass(seconds: number): Promise<void> {
    await this.clock.advance(seconds * 1000);
    await this.engineClock.advance(this.clock.now() - this.engineClock.now());
  }

  /** A tick each minute; what each of them did. */
  async minutes(count: number): Promise<string[]> {
    const steps: string[] = [];
    for (let minute = 0; minute < count; minute += 1) {
      await this.pass(60);
      steps.push((await this.tick()).step.kind);
    }
    return steps;
  }

  async alarms(): Promise<string[]> {
    return (await this.states.readObserved(this.name))?.alarms.map(({ code }) => code) ?? [];
  }

  /** Starts and stops that reached the engine. */
  get calls(): string[] {
    return this.handle.ledger.entries.map(({ kind }) => kind).filter((kind) => /^(start|stop)$/.test(kind));
  }
  get view() {
    const { status, trainers } = this.handle.inspect();
    return { status, trainers };
  }
}
