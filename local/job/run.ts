/** The main job on one machine: tasks in, rollouts through the real functions, stats out. */
import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { sendAll } from "../../cli/push/producer.ts";
import { createEngine } from "../../functions/adapters/engine/index.ts";
import { createLifecycleReader } from "../../functions/adapters/table/lifecycle.ts";
import type { Task } from "../../functions/core/protocol.ts";
import { encodeMessage, envelopes } from "../../functions/core/rollout/envelope.ts";
import { systemClock as clock } from "../../functions/system-clock.ts";
import type { EngineModel } from "../engine/config.ts";
import { unknownAnswers } from "../engine/knowledge.ts";
import { createModel } from "../engine/model.ts";
import { remoteEngineModel } from "../engine/remote-model.ts";
import { type EngineHandle, startEngine } from "../engine/start.ts";
import { InputError } from "../input-error.ts";
import { synthesise } from "../synth.ts";
import { type System, startSystem } from "../system.ts";
import { needWritable } from "../writable-folder.ts";
import { type Account, Accounting, engineAccount } from "./accounting.ts";
import { elsewhereFaults } from "./agents-elsewhere.ts";
import { fleetsOf } from "./deployment.ts";
import { EngineSilence } from "./engine-silence.ts";
import { mixByStep, paced, splitTasks } from "./fleets.ts";
import { LiveErrors } from "./live-errors.ts";
import type { JobOptions } from "./options.ts";
import { createProgress } from "./progress.ts";
import { batchTasks, settings, settingsNote, writtenSettings } from "./settings.ts";
import { faultsOf, type Summary } from "./summary.ts";
import { transcriptEnvironment, transcriptFolder } from "./transcripts.ts";

export const TICK_SECONDS = 5;
const LOOK_INTERVAL_MS = 1000;
/** Without any rollout coming to its end for so long, the run is given up. */
const PATIENCE_MS = 300_000;

export interface JobOutcome {
  readonly summary: Summary;
  readonly faults: readonly string[];
  /** Why the run was given up before its end, and the errors behind it; none where it was not. */
  readonly stopped: readonly string[];
  /** A rollout whose conversation is worth a look. */
  readonly example: string | undefined;
  /** What the functions said; undefined where it was not kept. */
  readonly logFile: string | undefined;
  /** The folder with the conversations. */
  readonly transcripts: string;
}
type Followed = Omit<JobOutcome, "logFile" | "transcripts">;

export async function runJob(
  options: JobOptions,
  tasks: readonly Task[],
  stop: AbortSignal,
): Promise<JobOutcome> {
  const began = clock.now();
  const scratch = await mkdtemp(join(tmpdir(), "sortie-"));
  const folder = options.keep === undefined ? scratch : await keptFolder(options.keep);
  const standIn = options.engine === undefined ? await startStandIn(options, tasks) : undefined;
  const engineUrl = options.engine ?? standIn?.url ?? "";
  const logFile = join(folder, "functions.log");
  const transcripts = await transcriptFolder(options.keep === undefined ? undefined : folder, began);
  const notes: string[] = [];
  const errors = new LiveErrors((text) => notes.push(text));
  let system: System | undefined;
  let outcome: Followed | undefined;
  const wantsLog = () => options.keep !== undefined || (!stop.aborted && (outcome?.faults.length ?? 0) > 0);
  try {
    await build(join(scratch, "assembly"), options, engineUrl);
    stop.throwIfAborted();
    system = await startSystem({
      assemblyDir: join(scratch, "assembly"),
      keepDir: options.keep === undefined ? undefined : folder,
      tickSeconds: TICK_SECONDS,
      python: options.python,
      environment: {
        SORTIE_SWEEP_INTERVAL_SECONDS: "0",
        ...transcriptEnvironment(transcripts),
        ...options.endpoints,
      },
      logFile,
      onLog: (entry) => errors.note(entry),
    });
    outcome = await pushAndFollow(options, tasks, { system, standIn, engineUrl, began, stop, errors, notes });
    return { ...outcome, logFile: wantsLog() ? logFile : undefined, transcripts };
  } finally {
    await system?.close(2000);
    await standIn?.close();
    const rest = folder === scratch && wantsLog() ? join(scratch, "assembly") : scratch;
    await rm(rest, { recursive: true, force: true });
  }
}

/** Builds the functions and the template with the settings of this run. @throws InputError */
export async function build(outDir: string, options: JobOptions, engineUrl: string): Promise<void> {
  const written = await writtenSettings(options.settings);
  const note = settingsNote(written);
  if (note !== undefined) process.stderr.write(`${note}\n`);
  const made = settings(options, engineUrl, written);
  const faults = elsewhereFaults(made, options);
  if (faults.length > 0) throw new InputError(faults.join("\n"));
  const warnings = await synthesise(outDir, made, options.strict);
  for (const warning of warnings) process.stderr.write(`${warning}\n`);
}

export async function keptFolder(name: string): Promise<string> {
  const folder = resolve(name);
  await needWritable(folder, `--keep ${name}`, "name another folder");
  return folder;
}

export async function startStandIn(options: JobOptions, tasks: readonly Task[]): Promise<EngineHandle> {
  const model = modelOf(options, tasks);
  const seconds = (random: () => number) => 0.2 + random() * 0.8;
  const { fleets } = options;
  return await startEngine({
    clock,
    seed: options.seed,
    model:
      fleets && options.model === undefined
        ? paced(model, splitTasks(tasks, fleets), fleets, seconds)
        : model,
    config: {
      engineVersion: options.engineVersion,
      batchTasks: batchTasks(options),
      repeats: options.repeats,
      startRolling: !options.offline,
      bootSeconds: 1,
      syncSeconds: 2,
      modelSeconds: seconds,
    },
  });
}

/** A real one, or the stand-in's own, which says so where it knows little. @throws InputError */
function modelOf(options: JobOptions, tasks: readonly Task[]): EngineModel {
  const { model: url, modelName: model, apiKeyEnv } = options;
  if (url === undefined) {
    const warning = unknownAnswers(tasks);
    if (warning !== undefined) process.stderr.write(`warning: ${warning}\n`);
    return createModel({ tasks, seed: options.seed });
  }
  const apiKey = apiKeyEnv === undefined ? undefined : process.env[apiKeyEnv];
  if (apiKeyEnv !== undefined && !apiKey)
    throw new InputError(
      `--api-key-env: expected the variable ${apiKeyEnv} to hold the key, found it unset: set it`,
    );
  return remoteEngineModel(url, { ...(apiKey ? { apiKey } : {}), ...(model === undefined ? {} : { model }) });
}

interface Running {
  readonly system: System;
  readonly standIn: EngineHandle | undefined;
  readonly engineUrl: string;
  readonly began: number;
  readonly stop: AbortSignal;
  readonly errors: LiveErrors;
  /** What is to be shown at the next look. */
  readonly notes: string[];
}

async function pushAndFollow(
  options: JobOptions,
  tasks: readonly Task[],
  running: Running,
): Promise<Followed> {
  const { system } = running;
  const fleets = fleetsOf(system);
  const run = `local-${randomUUID().slice(0, 8)}`;
  const split = options.fleets
    ? splitTasks(tasks, options.fleets)
    : new Map([[fleets[0]?.name ?? "", tasks]]);
  let left = options.rollouts;
  for (const fleet of fleets) {
    const messages = [...envelopes(split.get(fleet.name) ?? [], { run, repeats: options.repeats })].slice(
      0,
      left,
    );
    left -= messages.length;
    await push(system, fleet.queueUrl, messages.map(encodeMessage));
  }
  const table = fleets[0]?.table ?? "";
  const store = createLifecycleReader({ client: system.dynamodb, table });
  const names = fleets.map(({ name }) => name);
  return await follow(running, new Accounting(store, names, run), options.rollouts - left);
}

async function push(system: System, queueUrl: string, bodies: readonly string[]): Promise<void> {
  const refused = await sendAll({ client: system.sqs, queueUrl }, bodies);
  if (refused.length > 0)
    throw new Error(`the queue refused ${refused.length} messages: ${refused[0]?.reason}`);
}

/** Looks at table, engine and ledger until every rollout has come to its end, or nothing moves any more. */
async function follow(running: Running, accounting: Accounting, pushed: number): Promise<Followed> {
  const engine = createEngine({ url: running.engineUrl, clock });
  const silence = new EngineSilence(engine);
  const progress = createProgress(pushed, process.stderr);
  let firstEnded: number | null = null;
  let moved = { settled: 0, at: clock.now() };
  try {
    for (;;) {
      const now = clock.now();
      const account = await accounting.read(now);
      const { engine_status: status, global_step: step = null } = await engine.status();
      const settled = account.ended + account.dead + account.unknown + account.lost;
      if (account.ended > 0) firstEnded ??= (now - running.began) / 1000;
      if (settled > moved.settled) moved = { settled, at: now };
      const elapsedMs = now - running.began;
      progress.show({
        ...account,
        total: pushed,
        deferred: deferrals(running.system),
        status,
        step,
        elapsedMs,
      });
      const note = await silence.note(status, clock.now());
      for (const text of [...running.notes.splice(0), ...(note === undefined ? [] : [note])])
        progress.note(text);
      if (
        running.errors.stopped !== undefined ||
        settled >= pushed ||
        now - moved.at > PATIENCE_MS ||
        running.stop.aborted
      )
        return conclude(running, accounting, account, { pushed, step, elapsedMs, firstEnded });
      await clock.sleep(LOOK_INTERVAL_MS, running.stop).catch(() => undefined);
    }
  } finally {
    progress.stop();
  }
}

function deferrals(system: System): number {
  return [...system.eventSources.values()].reduce((sum, { failed }) => sum + failed, 0);
}

function conclude(
  running: Running,
  accounting: Accounting,
  account: Account,
  figures: { pushed: number; step: number | null; elapsedMs: number; firstEnded: number | null },
): Followed {
  const { standIn } = running;
  const atEngine =
    standIn && engineAccount(standIn.ledger, standIn.inspect().open, accounting.rolloutOfAttempt());
  const summary: Summary = {
    pushed: figures.pushed,
    ended: account.ended,
    dead: account.dead,
    unknown: account.unknown,
    lost: account.lost,
    deferred: deferrals(running.system),
    attempts: account.attempts,
    reward_mean: account.rewardMean,
    reward_range: account.rewardRange,
    reward_mean_by_step: accounting.rewardMeanByStep(),
    global_step: figures.step,
    engine_ended: atEngine?.ended ?? null,
    engine_duplicate_ended: atEngine?.duplicates ?? null,
    engine_open: atEngine?.open ?? null,
    mix: standIn ? mixByStep(standIn.ledger) : {},
    seconds: figures.elapsedMs / 1000,
    seconds_to_first_ended: figures.firstEnded,
  };
  const { errors } = running;
  const faults = faultsOf(summary, account, atEngine);
  return { summary, faults, stopped: stoppedBy(errors), example: accounting.example() };
}

/** A run whose agent always fails waits for nothing; why is told before what was left. */
function stoppedBy(errors: LiveErrors): string[] {
  const { stopped } = errors;
  return stopped === undefined ? [] : [`given up: ${stopped}`, ...errors.counts()];
}
