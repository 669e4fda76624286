/** The whole way, over HTTP: the stand-in engine, the engine client, a real table. */
import { describe, expect, onTestFinished, test } from "vitest";
import { createEngineStateStore, setDesired } from "../../../../functions/adapters/table/engine-state.ts";
import { driveEngine } from "../../../../functions/core/drive.ts";
import type { DrivePorts } from "../../../../functions/core/drive-step.ts";
import type { Engine } from "../../../../functions/core/engine.ts";
import { type EngineStateStore, lifecycleDefaults } from "../../../../functions/core/engine-state.ts";
import type { Faults } from "../../../../local/engine/faults.ts";
import { type EngineHandle, startEngine } from "../../../../local/engine/start.ts";
import { engineAt } from "../../../support/engine-that.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { VirtualClock } from "../../../support/virtual-clock.ts";
import { useTable } from "../../adapters/table/engine-table.ts";

const options = useTable();
const config = "ajet:\n  backbone: verl\n";
const BEGIN = Date.UTC(2030, 0, 1);
const BOOT_SECONDS = 90;
let names = 0;

/** An engine and the ticks that drive it; the engine's time moves only between the ticks. */
class Lab {
  readonly name: string;
  readonly clock = new FakeClock(BEGIN);
  readonly engineClock = new VirtualClock(BEGIN);
  readonly states: EngineStateStore;
  readonly handle: EngineHandle;
  readonly client: Engine;
  settings = lifecycleDefaults;
  waiting = 0;
  #token = 0;

  constructor(handle: EngineHandle, engineClock: VirtualClock) {
    names += 1;
    this.name = `stand-in-${names}`;
    this.handle = handle;
    this.engineClock = engineClock;
    this.states = createEngineStateStore(options());
    this.client = engineAt(handle.url, { clock: this.clock });
  }

  static async open(faults: Faults = () => undefined): Promise<Lab> {
    const clock = new VirtualClock(BEGIN);
    const handle = await startEngine({
      clock,
      seed: 1,
      model: () => ({ message: { role: "assistant", content: "4" } }),
      config: { startRolling: false, bootSeconds: BOOT_SECONDS },
      faults,
    });
    onTestFinished(() => handle.close());
    return new Lab(handle, clock);
  }

  want(wish: Parameters<typeof setDesired>[2]) {
    return setDesired(options(), this.name, wish, { now: this.clock.now() });
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
      waiting: async () => this.waiting,
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

const rollingAlone = { status: "ENGINE.ROLLING", trainers: 1 };

test("an engine that is wanted running is started with its config, and then left alone", async () => {
  const lab = await Lab.open();
  await lab.want({ state: "running", config: "ajet:\n  data:\n    train_batch_size: 3\n" });
  expect((await lab.tick()).step.kind).toBe("start");
  expect(await lab.minutes(4)).toEqual(["wait", "none", "none", "none"]);
  expect(lab.view).toEqual(rollingAlone);
  expect(lab.calls).toEqual(["start"]);
  await lab.pass(20);
  expect((await lab.client.pool()).completed_task_target).toBe(3);
});

test("an engine that is wanted stopped is stopped, in the middle of booting too", async () => {
  const lab = await Lab.open();
  await lab.want({ state: "running", config });
  await lab.tick();
  await lab.want({ state: "stopped" });
  expect(await lab.minutes(2)).toEqual(["stop", "none"]);
  expect(lab.view).toEqual({ status: "ENGINE.OFFLINE", trainers: 0 });
});

test("a restart stops first, and starts one trainer", async () => {
  const lab = await Lab.open();
  lab.handle.start();
  await lab.pass(120);
  await lab.want({ state: "running", config, restart: "r-1" });
  expect(await lab.minutes(4)).toEqual(["stop", "start", "wait", "none"]);
  expect(lab.calls).toEqual(["start", "stop", "start"]);
  expect(lab.view).toEqual(rollingAlone);
});

test("a start that the engine refuses is stopped and tried three times; its words are shown verbatim", async () => {
  const lab = await Lab.open();
  await lab.want({ state: "running", config: "just text" });
  await lab.tick();
  expect(lab.view).toEqual({ status: "ENGINE.BOOTING", trainers: 0 });
  const steps = await lab.minutes(20);
  expect(steps.filter((kind) => kind === "start")).toHaveLength(2);
  expect(steps.filter((kind) => kind === "stop")).toHaveLength(3);
  expect(lab.view).toEqual({ status: "ENGINE.OFFLINE", trainers: 0 });
  const observed = await lab.states.readObserved(lab.name);
  expect(observed?.alarms.map(({ code }) => code)).toEqual(["gave-up"]);
  expect(observed?.alarms[0]?.text).toContain("'str' object has no attribute 'get'");

  await lab.want({ state: "running", config });
  expect((await lab.minutes(4))[0]).toBe("start");
  expect(lab.view).toEqual(rollingAlone);
});

describe("a start without an answer", () => {
  function once(path: string, kind: "close" | "act-then-close"): Faults {
    let spent = false;
    return (call) => {
      if (spent || call.path !== path) return undefined;
      spent = true;
      return { kind };
    };
  }

  test("that was taken is not repeated", async () => {
    const lab = await Lab.open(once("/start_engine", "act-then-close"));
    await lab.want({ state: "running", config });
    await lab.tick();
    expect(await lab.minutes(3)).toEqual(["wait", "none", "none"]);
    expect(lab.calls).toEqual(["start"]);
    expect(lab.view).toEqual(rollingAlone);
  });

  test("that was not taken is repeated once it cannot arrive any more", async () => {
    const lab = await Lab.open(once("/start_engine", "close"));
    await lab.want({ state: "running", config });
    await lab.tick();
    const steps = await lab.minutes(22);
    expect(steps.slice(0, 15)).toEqual(Array(15).fill("wait"));
    expect(steps.filter((kind) => kind === "start")).toHaveLength(1);
    expect(lab.calls).toEqual(["start"]);
    expect(lab.view).toEqual(rollingAlone);
  });
});

describe("a process that dies", () => {
  const never = <T>() => new Promise<T>(() => undefined);

  /** Ports whose process dies before or after its n-th operation; `died` resolves when it does. */
  function dying(lab: Lab, n: number, when: "before" | "after") {
    const { promise: died, resolve: die } = Promise.withResolvers<"died">();
    let operations = 0;
    const wrap =
      <Args extends unknown[], T>(act: (...args: Args) => Promise<T>) =>
      async (...args: Args): Promise<T> => {
        operations += 1;
        const last = operations === n;
        if (last && when === "before") {
          die("died");
          return never();
        }
        const value = await act(...args);
        if (!last) return value;
        die("died");
        return never();
      };
    const { client, states } = lab;
    const changes: Partial<DrivePorts> = {
      engine: {
        status: wrap(client.status),
        syncConfig: wrap(client.syncConfig),
        start: wrap(client.start),
        stop: wrap(client.stop),
      },
      states: {
        readDesired: wrap(states.readDesired),
        readObserved: wrap(states.readObserved),
        writeObserved: wrap(states.writeObserved),
      },
    };
    return { changes, died };
  }

  const points = Array.from({ length: 10 }, (_, at) => at + 1).flatMap((n) => [
    [n, "before"] as const,
    [n, "after"] as const,
  ]);

  test.for(points)("while it starts an engine, at operation %i, %s it", async ([n, when]) => {
    const lab = await Lab.open();
    await lab.want({ state: "running", config });
    const { changes, died } = dying(lab, n, when);
    const outcome = await Promise.race([lab.tick(changes), died]);
    expect(outcome).toBe("died");
    await lab.minutes(21);
    expect(lab.calls).toEqual(["start"]);
    expect(lab.view).toEqual(rollingAlone);
    expect(await lab.alarms()).toEqual([]);
  });

  test.for(points.slice(0, 14))("while it restarts an engine, at operation %i, %s it", async ([n, when]) => {
    const lab = await Lab.open();
    lab.handle.start();
    await lab.pass(120);
    await lab.want({ state: "running", config, restart: "r-1" });
    const { changes, died } = dying(lab, n, when);
    expect(await Promise.race([lab.tick(changes), died])).toBe("died");
    await lab.minutes(6);
    expect(lab.calls.filter((kind) => kind === "start")).toHaveLength(2);
    expect(lab.view).toEqual(rollingAlone);
  });
});

describe("an engine that runs", () => {
  async function rolling(): Promise<Lab> {
    const lab = await Lab.open();
    await lab.want({ state: "running", config });
    await lab.tick();
    await lab.minutes(3);
    expect(lab.view).toEqual(rollingAlone);
    return lab;
  }

  test("and whose trainer dies is an alarm, and is started anew where the setting says so", async () => {
    const lab = await rolling();
    lab.handle.killTrainer();
    lab.waiting = 3;
    await lab.minutes(30);
    expect(await lab.alarms()).toEqual(["stalled"]);
    expect(lab.calls).toEqual(["start"]);
    lab.settings = { ...lifecycleDefaults, restartWhenStalled: true };
    await lab.minutes(5);
    expect(lab.calls).toEqual(["start", "stop", "start"]);
    expect(lab.view).toEqual(rollingAlone);
  });

  test("and ends its training is not started again until somebody asks", async () => {
    const lab = await rolling();
    lab.handle.endTraining();
    expect(await lab.minutes(3)).toEqual(["none", "none", "none"]);
    expect((await lab.states.readObserved(lab.name))?.finished).toBe(true);
    await lab.want({ state: "running", config });
    expect((await lab.minutes(1))[0]).toBe("start");
  });

  test("and whose server starts anew gets its config and its start again", async () => {
    const lab = await rolling();
    await lab.handle.restart({ keepState: false });
    const steps = await lab.minutes(6);
    expect(steps.filter((kind) => kind === "start")).toHaveLength(1);
    expect(lab.view).toEqual(rollingAlone);
  });

  test("and cannot be reached is waited for, and shown from the third look on", async () => {
    const lab = await rolling();
    await lab.handle.close();
    expect(await lab.minutes(2)).toEqual(["wait", "wait"]);
    expect(await lab.alarms()).toEqual([]);
    await lab.minutes(1);
    expect(await lab.alarms()).toEqual(["unreachable"]);
    // Then after one minute, two, four, five and five more.
    await lab.minutes(17);
    expect((await lab.states.readObserved(lab.name))?.unreachable?.count).toBe(8);
    await lab.want({ state: "stopped" });
    await lab.minutes(1);
    expect((await lab.states.readObserved(lab.name))?.unreachable?.count).toBe(9);
  });
});

test("errors of the table end the driving, never the tick", async () => {
  const lab = await Lab.open();
  const states = { ...lab.states, readObserved: () => Promise.reject(new Error("throttled")) };
  const { step } = await lab.tick({ states });
  expect(step).toEqual({ kind: "none", reason: "driving failed: Error: throttled" });
});

test("a tick that has lost its lease sends nothing, and leaves no intent behind", async () => {
  const lab = await Lab.open();
  await lab.want({ state: "running", config });
  // Held when the config is sent, and no more when the start is.
  const held = [true];
  const lease = { token: 1, isHeld: () => held.pop() ?? false };
  const { step } = await lab.tick({ lease });
  expect(step).toEqual({ kind: "none", reason: "another tick has taken over" });
  expect(lab.calls).toEqual([]);
  expect((await lab.states.readObserved(lab.name))?.start).toBeUndefined();
});
