/** One run of the suite against one engine: the whole local system, pushed through all phases, and judged. */
import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createEngine } from "../../functions/adapters/engine/index.ts";
import { lifecycleVariables, rolloutVariables } from "../../functions/contract/environment-names.ts";
import { isClientOf } from "../../functions/core/client-uuid.ts";
import type { Engine } from "../../functions/core/engine.ts";
import { NotOfferedError } from "../../functions/core/errors.ts";
import type { Task } from "../../functions/core/protocol.ts";
import { deployedFleetId } from "../../functions/environment.ts";
import { systemClock as clock } from "../../functions/system-clock.ts";
import type { EngineVersion } from "../engine/config.ts";
import { InputError } from "../input-error.ts";
import { fleetsOf, type LocalFleet } from "../job/deployment.ts";
import { generateProblems } from "../problems/problems.ts";
import { synthesise } from "../synth.ts";
import { type System, startSystem } from "../system.ts";
import type { LedgerOutput } from "./ledger.ts";
import { type Bench, killFunctions, patience, pause, reaches, restartEngine, runPhase } from "./phases.ts";
import { PoolWatch } from "./pool-watch.ts";
import { judge, type Phase, type Row } from "./rows.ts";
import { type Targets, targetsAt } from "./targets.ts";

export interface RunOptions {
  readonly engineUrl: string;
  readonly expected: EngineVersion | undefined;
  /** YAML; undefined: the engine is restarted by its own calls. */
  readonly config: string | undefined;
  readonly ledger: (() => Promise<LedgerOutput[]>) | undefined;
  /** Writes down in the folder what else is known, where a row fails. */
  readonly keep?: (folder: string) => Promise<void>;
  readonly agent: string;
  readonly rounds: number;
  readonly restart: boolean;
  readonly fast: boolean;
  /** Fires when the time is over, or on Ctrl-C. */
  readonly over: AbortSignal;
  readonly note: (text: string) => void;
}
export interface RunResult {
  readonly engine: string;
  readonly version: EngineVersion;
  readonly rows: readonly Row[];
  readonly seconds: number;
  readonly ok: boolean;
}

const THROTTLE_RATIO = 1.5;
const TICK_SECONDS = { fast: 2, slow: 5 };
/** The trainer's last report of what has ended, ms. */
const LAST_REPORT_MS = { fast: 3_000, slow: 16_000 };

/** @throws InputError where the engine cannot be reached, or rolls not and cannot be started */
export async function runConformance(options: RunOptions): Promise<RunResult> {
  const began = Date.now();
  const engine = createEngine({ url: options.engineUrl, clock });
  const version = await versionOf(engine);
  const targets = await targetsAt(engine, options.config);
  const folder = await mkdtemp(join(tmpdir(), "sortie-conformance-"));
  let system: System | undefined;
  const over = new AbortController();
  let ok = false;
  const watch = new PoolWatch(engine);
  try {
    system = await start(folder, options, targets);
    const bench = benchOf(system, engine, targets, options);
    await expectRolling(bench, fleetNamed(system, "main"), options);
    watch.begin(over.signal);
    const judged = await phasesAndRows(bench, watch, targets, options);
    const known = options.expected ?? version;
    const rows = [
      { row: "version of the engine", expected: known, found: version, ok: known === version },
      ...judged,
    ];
    const seconds = (Date.now() - began) / 1000;
    ok = rows.every((row) => row.ok);
    return { engine: options.engineUrl, version, rows, seconds, ok };
  } finally {
    over.abort();
    await watch.end();
    await system?.close(2000);
    if (ok) await rm(folder, { recursive: true, force: true });
    else {
      await options.keep?.(folder);
      options.note(`what the functions logged: ${join(folder, "functions.log")}`);
    }
  }
}

/** By what it answers: an older engine has no such call. */
async function versionOf(engine: Engine): Promise<EngineVersion> {
  try {
    await engine.experimentDir();
    return "newer";
  } catch (error) {
    if (error instanceof NotOfferedError) return "older";
    throw new InputError(`${engine.url}: expected an engine, found: ${(error as Error).message}`);
  }
}

async function start(folder: string, options: RunOptions, targets: Targets): Promise<System> {
  const { fast, agent, engineUrl } = options;
  const throttle = { ratio: THROTTLE_RATIO, batchSize: targets.tasks, repeats: targets.repeats };
  await synthesise(join(folder, "assembly"), {
    engineUrl,
    agent,
    maxEpisodes: 30,
    episodesPerInvocation: fast ? 5 : 10,
    retain: false,
    fleets: { main: {}, throttled: { throttle } },
    ...(fast && {
      timeoutSeconds: 30,
      visibilityMarginSeconds: 1,
      discardEpisodeTimeoutSeconds: 8,
      claimWaitSeconds: 16,
      minEpisodeSeconds: 3,
      settleMarginSeconds: 5,
    }),
  });
  options.over.throwIfAborted();
  return startSystem({
    assemblyDir: join(folder, "assembly"),
    tickSeconds: fast ? TICK_SECONDS.fast : TICK_SECONDS.slow,
    environment: {
      [lifecycleVariables.sweepIntervalSeconds]: "0",
      ...(fast && { [rolloutVariables.heartbeatSeconds]: "4" }),
    },
    logFile: join(folder, "functions.log"),
  });
}

function benchOf(system: System, engine: Engine, targets: Targets, { over, note, fast }: RunOptions): Bench {
  const id = randomUUID().slice(0, 8);
  const tasksFor = (name: string, count: number): Task[] =>
    generateProblems({ seed: 1, count }).map((task, index) => ({
      ...task,
      task_id: `${id}/${name}/${index}`,
    }));
  return {
    system,
    engine,
    tasksFor,
    prefixOf: (name) => `${id}/${name}/`,
    repeats: targets.repeats,
    patienceMs: fast ? patience.fast : patience.slow,
    over,
    note,
  };
}

function fleetNamed(system: System, name: string): LocalFleet {
  const fleet = fleetsOf(system).find((one) => one.name === name);
  if (fleet === undefined) throw new Error(`expected the fleet ${name} in the template, found none`);
  return fleet;
}

/** Starts an engine that is OFFLINE, where there is a config for it. */
async function expectRolling(bench: Bench, fleet: LocalFleet, { config }: RunOptions): Promise<void> {
  const { engine_status: status } = await bench.engine.status();
  if (status === "ENGINE.OFFLINE" && config === undefined)
    throw new InputError(
      "expected an engine that rolls, found one that is OFFLINE: start it, or give --config",
    );
  if (status === "ENGINE.OFFLINE") await restartEngine(bench, fleet, config);
  if (!(await reaches(bench, (now) => now === "ENGINE.ROLLING")))
    throw new InputError(`expected an engine that rolls within the time, found ${status}`);
}

async function phasesAndRows(
  bench: Bench,
  watch: PoolWatch,
  targets: Targets,
  options: RunOptions,
): Promise<Row[]> {
  const [main, throttled] = ["main", "throttled"].map((name) => fleetNamed(bench.system, name));
  if (main === undefined || throttled === undefined) throw new Error("expected two fleets");
  const { rounds, restart, fast, config } = options;
  const phases: Phase[] = [];
  phases.push(await runPhase(bench, { name: "main job", fleet: main, tasks: rounds * targets.tasks }));
  phases.push(
    await runPhase(bench, {
      name: "evals",
      fleet: main,
      tasks: targets.tasks,
      repeats: 1,
      episodeType: "eval",
    }),
  );
  const prefix = bench.prefixOf("throttle");
  watch.watchTasks(prefix);
  phases.push(await runPhase(bench, { name: "throttle", fleet: throttled, tasks: 3 * targets.tasks }));
  let kills = 0;
  const killing = { count: 3, everyMs: fast ? 1500 : 10_000 };
  phases.push(
    await runPhase(bench, {
      name: "killed functions",
      fleet: main,
      tasks: 2 * targets.tasks,
      isRough: true,
      meanwhile: async (isDone) => {
        kills = await killFunctions(bench, killing, isDone);
      },
    }),
  );
  let restarted: boolean | undefined;
  if (restart)
    phases.push(
      await runPhase(bench, {
        name: "restart of the engine",
        fleet: main,
        tasks: 2 * targets.tasks,
        isRough: true,
        meanwhile: async () => {
          await pause(fast ? 2000 : 10_000);
          restarted = await restartEngine(bench, main, config);
        },
      }),
    );
  bench.note("the trainer's last report");
  await pause(fast ? LAST_REPORT_MS.fast : LAST_REPORT_MS.slow);
  const limit = Math.floor(THROTTLE_RATIO * targets.tasks);
  return judge({
    phases,
    pool: watch,
    syncs: Math.max(1, Math.floor(rounds / 2)),
    evalPrefix: bench.prefixOf("evals"),
    throttle: { prefix, limit },
    openAtEngine: await openOf(bench, [main, throttled]),
    kills,
    restarted: restart ? (restarted ?? false) : undefined,
    ledger: await options.ledger?.(),
  });
}

async function openOf({ engine }: Bench, fleets: readonly LocalFleet[]): Promise<number> {
  const ids = fleets.map(({ name, table }) => deployedFleetId(name, table));
  const buffer = await engine.buffer();
  const claimed = buffer.filter(({ episode_status }) => episode_status === "claimed");
  return claimed.filter(({ client_uuid }) => ids.some((id) => isClientOf(id, client_uuid))).length;
}
