/** `npm start -- --serve`: the whole system, kept running on this machine for `sortie … --local`. */
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { announceLocalRun, type LocalRun, localRunFile, retractLocalRun } from "../cli/local-run.ts";
import type { Task } from "../functions/core/protocol.ts";
import { fleetsOf } from "./job/deployment.ts";
import { attemptLine } from "./job/live-errors.ts";
import type { JobOptions } from "./job/options.ts";
import { build, keptFolder, startStandIn, TICK_SECONDS } from "./job/run.ts";
import { transcriptEnvironment, transcriptFolder } from "./job/transcripts.ts";
import { region } from "./region.ts";
import { type System, startSystem } from "./system.ts";
import { needWritable } from "./writable-folder.ts";

/** Resolves when `stop` has fired and everything is down again. */
export async function serve(options: JobOptions, tasks: readonly Task[], stop: AbortSignal): Promise<void> {
  const file = localRunFile();
  const folder = dirname(file);
  await needWritable(folder, "--serve", "set SORTIE_LOCAL_RUN to a file in another folder");
  const keepDir = options.keep === undefined ? undefined : await keptFolder(options.keep);
  const transcripts = await transcriptFolder(keepDir, Date.now());
  const scratch = await mkdtemp(join(tmpdir(), "sortie-"));
  const standIn = options.engine === undefined ? await startStandIn(options, tasks) : undefined;
  let system: System | undefined;
  const announced = { pid: process.pid };
  try {
    const engineUrl = options.engine ?? standIn?.url ?? "";
    await build(join(scratch, "assembly"), options, engineUrl);
    stop.throwIfAborted();
    const log = join(folder, "functions.log");
    system = await startSystem({
      assemblyDir: join(scratch, "assembly"),
      keepDir,
      tickSeconds: TICK_SECONDS,
      python: options.python,
      environment: {
        SORTIE_SWEEP_INTERVAL_SECONDS: "0",
        ...transcriptEnvironment(transcripts),
        ...options.endpoints,
      },
      logFile: log,
      onLog: (entry) => {
        const line = attemptLine(entry);
        if (line !== undefined) process.stderr.write(`${line}\n`);
      },
    });
    const tasksFile = join(folder, "tasks.jsonl");
    await writeFile(tasksFile, tasks.map((task) => `${JSON.stringify(task)}\n`).join(""));
    await announceLocalRun({ ...describe(system, engineUrl, log), transcripts }, file);
    process.stderr.write(welcome(engineUrl, log, tasksFile));
    if (!stop.aborted) await once(stop, "abort");
  } finally {
    await retractLocalRun(announced, file);
    await system?.close(2000);
    await standIn?.close();
    await rm(scratch, { recursive: true, force: true });
  }
}

function describe(system: System, engineUrl: string, log: string): LocalRun {
  const fleets = fleetsOf(system);
  const [first] = fleets;
  if (!first) throw new Error("expected a rollout function in the template, found none");
  return {
    v: 1,
    pid: process.pid,
    started_at: new Date().toISOString(),
    region,
    endpoints: system.endpoints,
    engine_url: engineUrl,
    table: first.table,
    fleets: fleets.map(({ name, engine, queueUrl, deadLetterQueueUrl }) => ({
      name,
      engine,
      queueUrl,
      deadLetterQueueUrl,
    })),
    rolloutTtlDays: first.rolloutTtlDays,
    log,
  };
}

function welcome(engineUrl: string, log: string, tasksFile: string): string {
  return `Sortie runs on this machine, until Ctrl-C.
  engine     ${engineUrl}
  functions  ${log}
  tasks      ${tasksFile}

In another terminal:
  npx sortie push ${tasksFile} --repeats 4 --local
  npx sortie stats --watch --local
`;
}
