/** The whole way, over HTTP: the stand-in engine, the engine client, a real table. */
import { zipSync } from "fflate";
import { describe, expect, test } from "vitest";
import { writeCode } from "../../../../functions/adapters/table/engine-code.ts";
import type { DrivePorts } from "../../../../functions/core/engine-lifecycle/drive-step.ts";
import { lifecycleDefaults } from "../../../../functions/core/engine-lifecycle/engine-state.ts";
import type { Faults } from "../../../../local/engine/faults.ts";
import { useTable } from "../../adapters/table/engine-table.ts";
import { Lab } from "./lab.ts";

const options = useTable();
const config = "ajet:\n  backbone: verl\n";
const rollingAlone = { status: "ENGINE.ROLLING", trainers: 1 };

test("an engine that is wanted running is started with its config, and then left alone", async () => {
  const lab = await Lab.open(options());
  await lab.want({ state: "running", config: "ajet:\n  data:\n    train_batch_size: 3\n" });
  expect((await lab.tick()).step.kind).toBe("start");
  expect(await lab.minutes(4)).toEqual(["wait", "none", "none", "none"]);
  expect(lab.view).toEqual(rollingAlone);
  expect(lab.calls).toEqual(["start"]);
  await lab.pass(20);
  expect((await lab.client.pool()).completed_task_target).toBe(3);
  const { experiment_dir } = (await lab.states.readObserved(lab.name)) ?? {};
  expect(experiment_dir).toMatch(/./);
  expect(experiment_dir).toBe(await lab.client.experimentDir());
});

describe("code that is wanted beside the config", () => {
  const zip = zipSync({ "ajet/__init__.py": new Uint8Array() });
  const sent: string[] = [];
  const faults: Faults = ({ path }) => void (/sync_train|start_engine/.test(path) && sent.push(path));

  async function wanted(version: "newer" | "older"): Promise<Lab> {
    sent.length = 0;
    const lab = await Lab.open(options(), faults, version);
    const code = await writeCode(options(), lab.name, zip);
    await lab.want({ state: "running", config, code });
    return lab;
  }

  test("is sent before it, and the start remembers which", async () => {
    const lab = await wanted("newer");
    expect((await lab.tick()).step.kind).toBe("start");
    expect(sent).toEqual(["/sync_train_code", "/sync_train_config", "/start_engine"]);
    expect(await lab.minutes(3)).toEqual(["wait", "none", "none"]);
    const { start } = (await lab.states.readObserved(lab.name)) ?? {};
    expect(start?.code).toBe((await writeCode(options(), lab.name, zip)).sha256);
    expect(await lab.alarms()).toEqual([]);
    await lab.want({ state: "running", config });
    await lab.minutes(1);
    expect((await lab.states.readObserved(lab.name))?.alarms).toMatchObject([
      { code: "config-differs", text: expect.stringContaining("with another code") },
    ]);
  });

  test("is refused by an older engine at once: one try, no start, and what to do", async () => {
    const lab = await wanted("older");
    await lab.tick();
    expect(await lab.alarms()).toEqual(expect.arrayContaining(["gave-up"]));
    expect(await lab.minutes(20)).toEqual(Array(20).fill("none"));
    expect(sent).toEqual(["/sync_train_code"]);
    const { alarms } = (await lab.states.readObserved(lab.name)) ?? {};
    expect(alarms).toMatchObject([
      { code: "gave-up", text: expect.stringMatching(/takes no code.*without --code/) },
    ]);
    await lab.want({ state: "running", config });
    expect(await lab.minutes(1)).toEqual(["start"]);
  });

  test("whose parts are gone is no failed start: it is tried again, and an alarm says so", async () => {
    const lab = await Lab.open(options(), faults);
    sent.length = 0;
    const code = { sha256: "0".repeat(64), bytes: 10, parts: 1 };
    await lab.want({ state: "running", config, code });
    expect(await lab.minutes(5)).toEqual(["start", "start", "start", "start", "start"]);
    expect(sent).toEqual([]);
    expect((await lab.states.readObserved(lab.name))?.alarms).toMatchObject([
      { code: "call-failed", text: expect.stringContaining("the code could not be read") },
    ]);
  });
});

test("an engine that is wanted stopped is stopped, in the middle of booting too", async () => {
  const lab = await Lab.open(options());
  await lab.want({ state: "running", config });
  await lab.tick();
  await lab.want({ state: "stopped" });
  expect(await lab.minutes(2)).toEqual(["stop", "none"]);
  expect(lab.view).toEqual({ status: "ENGINE.OFFLINE", trainers: 0 });
});

test("a restart stops first, and starts one trainer", async () => {
  const lab = await Lab.open(options());
  lab.handle.start();
  await lab.pass(120);
  await lab.want({ state: "running", config, restart: "r-1" });
  expect(await lab.minutes(4)).toEqual(["stop", "start", "wait", "none"]);
  expect(lab.calls).toEqual(["start", "stop", "start"]);
  expect(lab.view).toEqual(rollingAlone);
});

test("a start that the engine refuses is stopped and tried three times; its words are shown verbatim", async () => {
  const lab = await Lab.open(options());
  await lab.want({ state: "running", config: "just text" });
  const logged: unknown[] = [];
  await lab.tick({ log: (_level, _message, facts) => logged.push(facts?.["alarm"]) });
  expect(logged).toContain("start-failed");
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
    const lab = await Lab.open(options(), once("/start_engine", "act-then-close"));
    await lab.want({ state: "running", config });
    await lab.tick();
    expect(await lab.minutes(3)).toEqual(["wait", "none", "none"]);
    expect(lab.calls).toEqual(["start"]);
    expect(lab.view).toEqual(rollingAlone);
  });

  test("that was not taken is repeated once it cannot arrive any more", async () => {
    const lab = await Lab.open(options(), once("/start_engine", "close"));
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

  /** Ports whose process dies after its n-th operation, its answer unseen; `died` resolves then. */
  function dying(lab: Lab, n: number) {
    const { promise: died, resolve: die } = Promise.withResolvers<"died">();
    let operations = 0;
    const wrap =
      <Args extends unknown[], T>(act: (...args: Args) => Promise<T>) =>
      async (...args: Args): Promise<T> => {
        operations += 1;
        const last = operations === n;
        const value = await act(...args);
        if (!last) return value;
        die("died");
        return never();
      };
    const { client, states } = lab;
    const changes: Partial<DrivePorts> = {
      engine: {
        status: wrap(client.status),
        syncCode: wrap(client.syncCode),
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

  // Two reads, status, write, config, write, start, write, status, write.
  test.for([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])("while it starts an engine, after operation %i", async (n) => {
    const lab = await Lab.open(options());
    await lab.want({ state: "running", config });
    const { changes, died } = dying(lab, n);
    expect(await Promise.race([lab.tick(changes), died])).toBe("died");
    await lab.minutes(21);
    expect(lab.calls).toEqual(["start"]);
    expect(lab.view).toEqual(rollingAlone);
    expect(await lab.alarms()).toEqual([]);
  });

  // Two reads, status, write, stop, write, status, write.
  test.for([1, 2, 3, 4, 5, 6, 7, 8])("while it restarts an engine, after operation %i", async (n) => {
    const lab = await Lab.open(options());
    lab.handle.start();
    await lab.pass(120);
    await lab.want({ state: "running", config, restart: "r-1" });
    const { changes, died } = dying(lab, n);
    expect(await Promise.race([lab.tick(changes), died])).toBe("died");
    await lab.minutes(6);
    expect(lab.calls.filter((kind) => kind === "start")).toHaveLength(2);
    expect(lab.view).toEqual(rollingAlone);
  });
});

describe("an engine that runs", () => {
  async function rolling(total?: number): Promise<Lab> {
    const lab = await Lab.open(options());
    const steps = total === undefined ? "" : `  trainer_common:\n    total_training_steps: ${total}\n`;
    await lab.want({ state: "running", config: config + steps, total_steps: total });
    await lab.tick();
    await lab.minutes(3);
    expect(lab.view).toEqual(rollingAlone);
    return lab;
  }

  test("and whose trainer dies with its launcher is an alarm, and is started anew where the setting says so", async () => {
    const lab = await rolling();
    lab.handle.killTrainer({ launcher: false });
    lab.waiting = 3;
    await lab.minutes(30);
    expect(await lab.alarms()).toEqual(["stalled"]);
    expect(lab.calls).toEqual(["start"]);
    lab.settings = { ...lifecycleDefaults, restartWhenStalled: true };
    await lab.minutes(5);
    expect(lab.calls).toEqual(["start", "stop", "start"]);
    expect(lab.view).toEqual(rollingAlone);
  });

  test("and has run its last step is not started again until somebody asks", async () => {
    const lab = await rolling(3);
    for (let step = 1; step < 3; step += 1) {
      lab.handle.forceWeightSync();
      await lab.minutes(2);
    }
    lab.handle.forceWeightSync();
    expect(await lab.minutes(3)).toEqual(["none", "none", "none"]);
    expect(lab.view.status).toBe("ENGINE.OFFLINE");
    expect(await lab.states.readObserved(lab.name)).toMatchObject({
      finished: true,
      conclusion: { what: "finished", why: "its last step was done: step 3 of 3 was seen" },
    });
    expect(await lab.alarms()).toEqual([]);
    await lab.want({ state: "running", config, total_steps: 3 });
    expect((await lab.minutes(1))[0]).toBe("start");
  });

  test("and crashes before its last step is started again, with an alarm until the next policy update", async () => {
    const lab = await rolling(9);
    lab.handle.forceWeightSync();
    await lab.minutes(2);
    lab.handle.killTrainer();
    await lab.minutes(3);
    expect(lab.calls).toEqual(["start", "start"]);
    expect(lab.view).toEqual(rollingAlone);
    expect(await lab.alarms()).toEqual(["crashed"]);
    expect(await lab.states.readObserved(lab.name)).toMatchObject({
      conclusion: { what: "crashed", why: expect.stringContaining("at step 2, of 9 steps") },
    });
    lab.handle.forceWeightSync();
    await lab.minutes(2);
    expect(await lab.alarms()).toEqual([]);
  });

  test("and is stopped by somebody else is started again, as after a crash", async () => {
    const lab = await rolling(9);
    await lab.client.stop();
    await lab.minutes(1);
    expect(await lab.alarms()).toEqual(["start-failed"]);
    await lab.minutes(3);
    expect(lab.calls).toEqual(["start", "stop", "start"]);
    expect(lab.view).toEqual(rollingAlone);
  });

  test("and is asked to restart in its last step is started again", async () => {
    const lab = await rolling(1);
    await lab.want({ state: "running", config, total_steps: 1, restart: "r-1" });
    expect(await lab.minutes(4)).toEqual(["stop", "start", "wait", "none"]);
    expect(lab.calls).toEqual(["start", "stop", "start"]);
    expect(lab.view).toEqual(rollingAlone);
    expect((await lab.states.readObserved(lab.name))?.conclusion?.what).toBe("stopped");
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
    // What a snapshot saw before the last look is known.
    const looked = (await lab.states.readObserved(lab.name))?.looked_at ?? 0;
    await lab.pass(60);
    await lab.tick({ answeredAt: async () => looked - 1 });
    expect((await lab.states.readObserved(lab.name))?.unreachable?.count).toBe(9);
    await lab.tick({ answeredAt: async () => looked + 1 });
    expect((await lab.states.readObserved(lab.name))?.unreachable?.count).toBe(10);
  });
});

test("errors of the table end the driving, never the tick", async () => {
  const lab = await Lab.open(options());
  const states = { ...lab.states, readObserved: () => Promise.reject(new Error("throttled")) };
  const { step } = await lab.tick({ states });
  expect(step).toEqual({ kind: "none", reason: "driving failed: Error: throttled" });
});

test("a tick that has lost its lease sends nothing, and leaves no intent behind", async () => {
  const lab = await Lab.open(options());
  await lab.want({ state: "running", config });
  // Held when the config is sent, and no more when the start is.
  const held = [true];
  const lease = { token: 1, isHeld: () => held.pop() ?? false };
  const { step } = await lab.tick({ lease });
  expect(step).toEqual({ kind: "none", reason: "another tick has taken over" });
  expect(lab.calls).toEqual([]);
  expect((await lab.states.readObserved(lab.name))?.start).toBeUndefined();
});
