import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { configFacts, configFault } from "../../cli/engine-config.ts";
import { readCode } from "../../functions/adapters/table/engine-code.ts";
import { createEngineLinesStore } from "../../functions/adapters/table/engine-lines.ts";
import { createEngineStateStore, readAgreeRequest } from "../../functions/adapters/table/engine-state.ts";
import { createLifecycleStore } from "../../functions/adapters/table/lifecycle.ts";
import { configHash, type Observed } from "../../functions/core/engine-lifecycle/engine-state.ts";
import { nothingObserved } from "../../functions/core/engine-lifecycle/observe-engine.ts";
import { poolInformationSchema } from "../../functions/core/protocol.ts";
import { type Deployed, startDeployment } from "./deployment.ts";
import { type Circumstances, sortie } from "./here.ts";
import { snapshotOf } from "./samples.ts";

const CONFIG = "ajet:\n  backbone: verl\n";
let deployed: Deployed;
let folder: string;
let config: string;
let now = Date.parse("2026-05-04T10:00:00.000Z");

beforeAll(async () => {
  deployed = await startDeployment();
  folder = await mkdtemp(join(tmpdir(), "engine-"));
  config = join(folder, "train.yaml");
  await writeFile(config, CONFIG);
});
afterAll(async () => {
  await deployed[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

const here = async (args: readonly string[], given: Circumstances = {}) =>
  await sortie(["engine", ...args], { environment: deployed.environment, now: () => now, ...given });
const store = () => createEngineStateStore(deployed.table);
const desired = async (engine = "main") => (await store().readDesired(engine)).desired;

const ownStart = {
  generation: 1,
  hash: "hash",
  at: now,
  until: now,
  answer: "accepted",
  seen: "up",
  first_step: 1,
  updated: true,
} as const;

/** What a tick of the lifecycle function would leave. */
async function observe(facts: Partial<Observed>, engine = "main"): Promise<void> {
  const previous = await store().readObserved(engine);
  const was = previous ?? nothingObserved(now);
  expect(
    await store().writeObserved(engine, previous, {
      ...was,
      ...facts,
      version: was.version + 1,
      token: was.token + 1,
    }),
  ).toBe(true);
}

describe("sortie engine", () => {
  test("start writes down that it is wanted running, with its config", async () => {
    const ran = await here(["start", "--config", config, "--engine", "one"]);
    const hash = await configHash(CONFIG);
    expect(ran.code).toBe(0);
    expect(ran.out).toBe(`Engine one is wanted running, with config ${hash.slice(0, 12)} (generation 1).\n`);
    expect(await desired("one")).toMatchObject({
      state: "running",
      config: CONFIG,
      hash,
      generation: 1,
      set_at: now,
    });
  });

  test("start with code names what it stored; a restart keeps it, another start without it does not", async () => {
    const code = join(folder, "ajet");
    await mkdir(code, { recursive: true });
    await writeFile(join(code, "__init__.py"), "");
    const engine = ["--engine", "coded"];
    const ran = await here(["start", "--config", config, "--code", folder, ...engine]);
    expect(ran.out).toMatch(/ and code [0-9a-f]{12}, 0\.0 MB \(generation 1\)/);
    const wanted = await desired("coded");
    const named = wanted?.state === "running" ? wanted.code : undefined;
    expect(named).toMatchObject({ parts: 1 });
    if (named) expect(await readCode(deployed.table, "coded", named)).toHaveLength(named.bytes);
    await here(["restart", "--config", config, ...engine]);
    expect(await desired("coded")).toMatchObject({ generation: 2, code: named });
    await here(["start", "--config", config, ...engine]);
    expect(await desired("coded")).not.toHaveProperty("code");
  });

  test("code that is no package is refused, and nothing is changed", async () => {
    const ran = await here([
      "start",
      "--config",
      config,
      "--code",
      join(folder, "none"),
      "--engine",
      "uncoded",
    ]);
    expect(ran).toMatchObject({ code: 1, err: expect.stringContaining("expected the trainer's package") });
    expect(await desired("uncoded")).toBeUndefined();
  });

  test("start takes the config from standard input", async () => {
    await here(["start", "--config", "-", "--engine", "two"], { input: "a: 1\n" });
    expect(await desired("two")).toMatchObject({ config: "a: 1\n" });
  });

  test("stop writes down that it is wanted stopped, as the next generation", async () => {
    await here(["start", "--config", config, "--engine", "three"]);
    expect((await here(["stop", "--engine", "three"])).out).toBe(
      "Engine three is wanted stopped (generation 2).\n",
    );
    expect(await desired("three")).toMatchObject({ state: "stopped", generation: 2 });
  });

  test("restart keeps the config, and asks for a stop first", async () => {
    await here(["start", "--config", config, "--engine", "four"]);
    const ran = await here(["restart", "--engine", "four", "--json"]);
    expect(ran.json()).toMatchObject({
      engine: "four",
      held: null,
      desired: {
        state: "running",
        config: CONFIG,
        generation: 2,
        restart: expect.stringMatching(/^[0-9a-f-]{36}$/),
      },
    });
  });

  test("restart of one that is not wanted running needs a config", async () => {
    const { code, err } = await here(["restart", "--engine", "five"]);
    expect(code).toBe(1);
    expect(err).toContain(
      "expected engine five to be wanted running, found nothing wanted of it: give its training config with --config",
    );
    expect((await here(["restart", "--engine", "five", "--config", config])).code).toBe(0);
  });

  test("start without a config is a fault of the command line", async () => {
    const { code, err } = await here(["start"]);
    expect(code).toBe(2);
    expect(err).toContain("required option '--config <file>' not specified");
  });

  test("status says what is wanted and what is seen", async () => {
    expect((await here(["status", "--engine", "six"])).out).toContain("nothing: Sortie only watches it");
    await here(["start", "--config", config, "--engine", "six"]);
    await observe(
      {
        status: "ENGINE.BOOTING",
        detail: "loading \u001b[2J",
        since: now - 60_000,
        looked_at: now - 5000,
        failures: 1,
        last_failure: { at: now - 120_000, text: "fell back" },
        step: { kind: "wait", reason: "the engine is booting" },
        alarms: [{ code: "start-failed", since: now - 60_000, text: "1 of 3 starts failed: fell back" }],
      },
      "six",
    );
    const { out } = await here(["status", "--engine", "six"]);
    expect(out).toMatch(/│ wanted +│ running, config \w{12} \(generation 1, set 0 s ago by \S+\) +│/);
    expect(out).toMatch(/│ seen +│ ENGINE\.BOOTING, for 1 min; looked 5 s ago +│/);
    expect(out).toMatch(/│ in its words +│ loading \ufffd\[2J +│/);
    expect(out).toMatch(/│ this tick +│ wait: the engine is booting +│/);
    expect(out).toMatch(/│ last failure +│ 2 min ago: fell back +│/);
    expect(out).toContain("Alarm start-failed, for 1 min: 1 of 3 starts failed: fell back\n");
    const seen = (await here(["status", "--engine", "six", "--json"])).json();
    expect(seen).toMatchObject({ desired: { state: "running" }, observed: { status: "ENGINE.BOOTING" } });
  });

  test("status does not call an engine unreachable that a later snapshot saw rolling", async () => {
    const unreachable = {
      since: now - 600_000,
      count: 9,
      look_again_at: now + 200_000,
      detail: "ECONNREFUSED",
    };
    await observe({ status: "ENGINE.ROLLING", looked_at: now - 100_000, unreachable }, "back");
    const lifecycle = createLifecycleStore({ ...deployed.table, snapshotTtlDays: 1 });
    const seenAt = async (ago: number) => {
      const at = new Date(now - ago).toISOString();
      await lifecycle.writeSnapshot({ ...snapshotOf({}), engine: "back", at });
      return (await here(["status", "--engine", "back"])).out;
    };
    expect(await seenAt(120_000)).toMatch(/│ unreachable +│ for 10 min, 9 looks: ECONNREFUSED +│/);
    expect(await seenAt(20_000)).toMatch(
      /│ answers again +│ ENGINE\.ROLLING, step 3, 20 s ago; it was unreachable for 9 min 40 s: +│\n│ +│ ECONNREFUSED +│/,
    );
    const json = (await here(["status", "--engine", "back", "--json"])).json();
    expect(json).toMatchObject({ answered_since: { at: now - 20_000, status: "ENGINE.ROLLING", step: 3 } });
  });

  test("status says what was made of the last end, and of the config that runs there", async () => {
    const start = { ...ownStart, hash: "0123456789abcdef", total_steps: 90 };
    const conclusion = {
      what: "crashed",
      why: "the engine went OFFLINE at step 7",
      at: now - 120_000,
    } as const;
    await observe({ status: "ENGINE.ROLLING", start, conclusion }, "ends");
    const { out } = await here(["status", "--engine", "ends"]);
    expect(out).toMatch(/│ its config +│ 0123456789ab, for 90 steps +│/);
    expect(out).toMatch(/│ last end +│ crashed, 2 min ago: the engine went OFFLINE at step 7 +│/);
    await observe({ start: undefined }, "ends");
    expect((await here(["status", "--engine", "ends"])).out).toMatch(
      /│ its config +│ unknown: somebody else has started it +│/,
    );
  });

  test("status shows what a newer engine tells: model, folder, active clients, rewards", async () => {
    const pool = poolInformationSchema.parse({
      engine_status: "ENGINE.ROLLING",
      training_model_path: "/models/qwen",
      completed_tasks_rewards: { a: [1, 0.5], b: [0] },
      swarm_client_instruction: {
        active_clients: [{ client_uuid: "main@x/1.1", allowed_sync_weight: true }, { client_uuid: "other" }],
      },
    });
    const lifecycle = createLifecycleStore({ ...deployed.table, snapshotTtlDays: 1 });
    await lifecycle.writeSnapshot({ ...snapshotOf({}), engine: "newer", pool });
    await observe({ status: "ENGINE.ROLLING", experiment_dir: "/experiments/7" }, "newer");
    const { out } = await here(["status", "--engine", "newer"]);
    expect(out).toMatch(/│ model +│ \/models\/qwen +│/);
    expect(out).toMatch(/│ experiment +│ \/experiments\/7 +│/);
    expect(out).toMatch(/│ active clients +│ 2, of which 1 agree to a weight sync +│/);
    expect(out).toMatch(/│ rewards +│ 3 in this batch, mean 0\.500, from 0 to 1 +│/);
  });

  test("start of an engine that somebody else has started says that its config is unknown; a restart does not", async () => {
    await observe({ status: "ENGINE.ROLLING", start: undefined }, "others");
    const said = "runs already: somebody else has started it, so its config is unknown";
    expect((await here(["start", "--config", config, "--engine", "others"])).err).toContain(said);
    expect((await here(["restart", "--engine", "others"])).err).not.toContain(said);
  });

  test("start and restart write down how many steps the config trains for", async () => {
    const path = join(folder, "steps.yaml");
    await writeFile(path, "ajet:\n  trainer_common:\n    total_training_steps: 90\n");
    await here(["start", "--config", path, "--engine", "steps"]);
    expect(await desired("steps")).toMatchObject({ total_steps: 90 });
    await here(["restart", "--engine", "steps"]);
    expect(await desired("steps")).toMatchObject({ total_steps: 90, generation: 2 });
    await here(["restart", "--engine", "steps", "--config", config]);
    expect(await desired("steps")).not.toHaveProperty("total_steps");
  });

  test("says when no fleet works on an engine of that name", async () => {
    const { err } = await here(["status", "--engine", "mian"]);
    expect(err).toBe('sortie: no fleet works on an engine "mian" (main is there)\n');
    expect((await here(["status"])).err).toBe("");
  });
});

describe("sortie engine log", () => {
  const lines = [
    { at: now, tag: "trainer", message: "step 3\u001b[2J" },
    { at: null, tag: "sortie", message: "swept: 1 settled" },
  ];
  const keep = (engine: string, more: object = {}) =>
    createEngineLinesStore(deployed.table).write(engine, {
      ...({ v: 1, looked_at: now, offered: true, lines } as const),
      ...more,
    });

  test("shows what the engine's terminal has shown, made safe for this one", async () => {
    await keep("lines");
    const ran = await here(["log", "--engine", "lines"]);
    expect(ran.out.split("\n")).toEqual([
      expect.stringMatching(/^10:00:00 {2}trainer {2}step 3/),
      "--:--:--  sortie  swept: 1 settled",
      "",
    ]);
    expect(ran.out).not.toContain("\u001b");
    expect((await here(["log", "--engine", "lines", "--json"])).json()).toMatchObject({ lines });
  });

  test("says so where nobody has looked, and where the engine is too old", async () => {
    expect(await here(["log", "--engine", "unseen"])).toMatchObject({
      code: 1,
      err: expect.stringContaining("the lifecycle function looks at each tick"),
    });
    await keep("old", { offered: false, lines: [] });
    expect(await here(["log", "--engine", "old"])).toMatchObject({
      code: 1,
      err: expect.stringContaining("found an older one"),
    });
  });
});

describe("a config", () => {
  test.each<[string, string, RegExp]>([
    ["that is no YAML", "a: [1", /^expected YAML, found a fault in it: /],
    ["with a tab for indentation", "a:\n\tb: 1", /^expected YAML, found a fault in it: /],
    ["that is a list", "- a\n", /^expected a mapping \(as ajet: …\), found a list$/],
    ["that is a text", "ajet", /^expected a mapping \(as ajet: …\), found "ajet"$/],
    ["that is empty", "", /^expected the training config as YAML, found nothing$/],
    ["that is a comment", "# nothing\n", /^expected a mapping|found nothing$/],
    ["of two documents", "a: 1\n---\nb: 2\n", /^expected one YAML document, found 2$/],
    ["with an unknown alias", "a: *b\n", /^expected YAML/],
  ])("%s is refused", async (_, text, message) => {
    expect(configFault(text)).toMatch(message);
    const path = join(folder, "faulty.yaml");
    await writeFile(path, text);
    const before = await desired();
    const { code, err } = await here(["start", "--config", path]);
    expect(code).toBe(1);
    expect(err).toMatch(/^sortie: .*faulty\.yaml: expected .*; nothing was changed\n$/);
    expect(await desired()).toEqual(before);
  });

  test.each(["ajet: {backbone: verl}\n", "x: &a {b: 1}\ny: *a\n", "{}", "---\na: 1\n", '\ufeffa: "ä"\n'])(
    "that is a mapping is taken: %j",
    (text) => {
      expect(configFault(text)).toBeUndefined();
    },
  );

  test.each([
    ["ajet: {trainer_common: {total_training_steps: 7}}", 7],
    ["a: &a {total_training_steps: 7}\najet: {trainer_common: *a}", 7],
    ["ajet: {trainer_common: {total_training_steps: null}}", undefined],
    ['ajet: {trainer_common: {total_training_steps: "7"}}', undefined],
    ["ajet: {trainer_common: {total_training_steps: 0}}", undefined],
    ["ajet: {trainer_common: [7]}", undefined],
    ["ajet:", undefined],
    ["{}", undefined],
  ])("says how many steps it trains for: %j", (text, totalSteps) => {
    expect(configFacts(text).totalSteps).toBe(totalSteps);
  });

  test("that cannot be read is said so", async () => {
    const { err } = await here(["start", "--config", join(folder, "nowhere.yaml")]);
    expect(err).toContain("expected a training config, could not read it (ENOENT)");
  });

  test("larger than an item holds is refused", async () => {
    const path = join(folder, "large.yaml");
    await writeFile(path, `a: "${"x".repeat(200_001)}"\n`);
    expect((await here(["start", "--config", path])).err).toContain(
      "expected at most 200000 bytes, found 200007",
    );
  });
});

describe("--wait", () => {
  /** Each pause is one tick: the next of `ticks` is what it leaves. */
  const ticking = (
    engine: string,
    ticks: (Partial<Observed> | (() => Promise<void>))[],
  ): NonNullable<Circumstances["pause"]> => {
    const previous = [...ticks];
    return async () => {
      now += 60_000;
      const tick = previous.shift();
      if (typeof tick === "function") await tick();
      else if (tick) await observe(tick, engine);
    };
  };
  const none = { kind: "none", reason: "running, as wanted" } as const;
  const wait = { kind: "wait", reason: "the engine is booting" } as const;

  test("follows a start until it rolls", async () => {
    const pause = ticking("w1", [
      { generation: 0, status: "ENGINE.OFFLINE", step: { kind: "none", reason: "no state is desired" } },
      {
        generation: 1,
        status: "ENGINE.OFFLINE",
        step: { kind: "start", reason: "wanted running, generation 1" },
      },
      { status: "ENGINE.BOOTING", step: wait, start: ownStart },
      { status: "ENGINE.ROLLING", global_step: 1, step: none },
    ]);
    const ran = await here(["start", "--config", config, "--engine", "w1", "--wait"], { pause });
    expect(ran.code).toBe(0);
    expect(ran.out).toMatch(/\nEngine w1: running, ENGINE\.ROLLING, step 1\.\n$/);
    expect(ran.progress.trimEnd().split("\n")).toEqual([
      "waiting for the next tick of the lifecycle function",
      "ENGINE.OFFLINE: wanted running, generation 1",
      "ENGINE.BOOTING: the engine is booting",
    ]);
  });

  test("says that the config is unknown where somebody else has started it", async () => {
    const pause = ticking("w0", [{ generation: 1, status: "ENGINE.ROLLING", global_step: 4, step: none }]);
    const ran = await here(["start", "--config", config, "--engine", "w0", "--wait"], { pause });
    expect(ran.out).toContain(
      "running, ENGINE.ROLLING, step 4; somebody else has started it, so its config is unknown.",
    );
  });

  test("on a terminal shows one line, with the time that it has waited", async () => {
    const pause = ticking("w2", [
      { generation: 1, status: "ENGINE.BOOTING", step: wait },
      { status: "ENGINE.ROLLING", step: none },
    ]);
    const ran = await here(["start", "--config", config, "--engine", "w2", "--wait"], {
      pause,
      terminal: true,
    });
    expect(ran.progress).toBe(
      "\rwaiting for the next tick of the lifecycle function (0 s)\u001b[K" +
        "\rENGINE.BOOTING: the engine is booting (1 min)\u001b[K\n",
    );
  });

  test("ends with 1 where the starts have failed too often", async () => {
    const text = "3 of 3 starts failed, and no more are made: fell back";
    const pause = ticking("w3", [
      {
        generation: 1,
        status: "ENGINE.OFFLINE",
        step: none,
        failures: 3,
        alarms: [{ code: "gave-up", since: now, text }],
      },
    ]);
    const ran = await here(["start", "--config", config, "--engine", "w3", "--wait", "--json"], { pause });
    expect(ran.code).toBe(1);
    expect(ran.err).toBe(
      `sortie: no fleet works on an engine "w3" (main is there)\nsortie: engine w3: ${text}\n`,
    );
    expect(ran.json()).toMatchObject({ held: false, why: text });
  });

  test("ends with 1 where the engine goes on with another config", async () => {
    const alarms = [{ code: "config-differs" as const, since: now, text: "another config" }];
    const pause = ticking("w4", [{ generation: 1, status: "ENGINE.ROLLING", step: none, alarms }]);
    const ran = await here(["start", "--config", config, "--engine", "w4", "--wait"], { pause });
    expect(ran.code).toBe(1);
    expect(ran.err).toContain("engine w4: another config (sortie engine restart)");
  });

  test("of a stop holds once the engine is OFFLINE and nothing is under way", async () => {
    const pause = ticking("w5", [
      { generation: 1, status: "ENGINE.ROLLING", step: { kind: "stop", reason: "wanted stopped" } },
      { status: "ENGINE.OFFLINE", step: { kind: "wait", reason: "a start may still be under way" } },
      { status: "ENGINE.OFFLINE", step: { kind: "none", reason: "stopped, as wanted" } },
    ]);
    const ran = await here(["stop", "--engine", "w5", "--wait"], { pause });
    expect(ran.out).toContain("Engine w5: stopped.\n");
    expect(ran.progress).toContain("a start may still be under way");
  });

  test("of a restart does not take the engine that still rolls for the new one", async () => {
    await here(["start", "--config", config, "--engine", "w6"]);
    const restarted = async () => {
      const wanted = await desired("w6");
      if (wanted?.state === "running")
        await observe(
          { generation: 2, status: "ENGINE.ROLLING", step: none, restarted: wanted.restart },
          "w6",
        );
    };
    const pause = ticking("w6", [{ generation: 2, status: "ENGINE.ROLLING", step: none }, restarted]);
    const ran = await here(["restart", "--engine", "w6", "--wait"], { pause });
    expect(ran.code).toBe(0);
    expect(ran.progress.split("\n")).toContain("ENGINE.ROLLING: running, as wanted");
  });

  test("ends with 1 where somebody else wants something else", async () => {
    const pause = ticking("w7", [async () => void (await here(["stop", "--engine", "w7"]))]);
    const ran = await here(["start", "--config", config, "--engine", "w7", "--wait"], { pause });
    expect(ran.code).toBe(1);
    expect(ran.err).toContain("somebody wants something else meanwhile (generation 2)");
  });

  test("gives up after its time, and at Ctrl-C; both leave it wanted", async () => {
    const pause = ticking("w8", []);
    const late = await here(["start", "--config", config, "--engine", "w8", "--wait", "--timeout", "3m"], {
      pause,
    });
    expect(late.code).toBe(1);
    expect(late.err).toContain("not there after 3 min; it goes on without anybody waiting");
    const stopped = await here(["start", "--config", config, "--engine", "w8", "--wait"], {
      stop: AbortSignal.abort(),
    });
    expect(stopped.code).toBe(130);
    expect(stopped.err).toContain("stopped waiting; what was asked for stays wanted");
    expect(await desired("w8")).toMatchObject({ state: "running", generation: 2 });
  });
});

describe("a config whose weight syncs wait for agreement", () => {
  const method = "rollout_until_all_clients_agree_sync_weight";
  async function given(): Promise<string> {
    const path = join(folder, "waiting.yaml");
    await writeFile(path, `ajet:\n  swarm_mode_sample_collection_method: ${method}\n`);
    return path;
  }

  test("is refused where nobody would agree, by start and by restart", async () => {
    const path = await given();
    await observe({ status: "ENGINE.OFFLINE" }, "g1");
    for (const command of ["start", "restart"]) {
      const { code, err } = await here([command, "--config", path, "--engine", "g1"]);
      expect(code).toBe(1);
      expect(err).toContain(`its weights sync only when clients agree (${method})`);
      expect(err).toContain("set engines.g1.agreeAfter and deploy");
    }
    expect(await desired("g1")).toBeUndefined();
  });

  test("is taken where the deployment has a rule, or somebody means to agree by hand", async () => {
    const path = await given();
    expect((await here(["start", "--config", path, "--engine", "g2", "--agree-by-hand"])).code).toBe(0);
    await observe({ agree_after: { episodes: 16 } }, "g3");
    expect((await here(["start", "--config", path, "--engine", "g3"])).code).toBe(0);
  });

  test("agree asks for the weight sync of the step that rolls", async () => {
    await observe({ status: "ENGINE.ROLLING", global_step: 7 }, "g4");
    const { out } = await here(["agree", "--engine", "g4"]);
    expect(out).toContain("Engine g4: asked for the weight sync of step 7.");
    expect(await readAgreeRequest(deployed.table, "g4")).toMatchObject({ step: 7, at: now });
  });

  test("agree says so where the engine does not roll", async () => {
    await observe({ status: "ENGINE.WEIGHT_SYNCING", global_step: 7 }, "g5");
    const { code, err } = await here(["agree", "--engine", "g5"]);
    expect(code).toBe(1);
    expect(err).toContain("expected engine g5 to roll, found ENGINE.WEIGHT_SYNCING: agree once it does");
    expect((await here(["agree", "--engine", "g6"])).err).toContain("found that nobody has looked yet");
  });
});
