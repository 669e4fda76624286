/** `npm run conformance`: exit code 0 when every row holds, else 1. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import Table from "cli-table3";
import { CommandFailure } from "../../cli/failures.ts";
import { systemClock as clock } from "../../functions/system-clock.ts";
import { type EngineVersion, engineVersions } from "../engine/config.ts";
import { createModel } from "../engine/model.ts";
import { startEngine } from "../engine/start.ts";
import { InputError } from "../input-error.ts";
import { generateProblems } from "../problems/problems.ts";
import { fetchLedger, standInOutputs } from "./ledger.ts";
import { type ConformanceOptions, readOptions } from "./options.ts";
import { type RunOptions, type RunResult, runConformance } from "./run.ts";

const options = readOptions(process.argv);
const stop = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const)
  process.once(signal, () => {
    process.stderr.write("\nstopping everything …\n");
    stop.abort(new InputError(`stopped by ${signal}`));
  });
const over = AbortSignal.any([stop.signal, AbortSignal.timeout(options.minutes * 60_000)]);

try {
  const results =
    options.engine === undefined ? await standIns(options) : [await real(options, options.engine)];
  process.stdout.write(options.json ? `${JSON.stringify(results)}\n` : results.map(render).join("\n"));
  process.exitCode = results.every(({ ok }) => ok) && !stop.signal.aborted ? 0 : 1;
} catch (error) {
  const isOurs = error instanceof InputError || error instanceof CommandFailure;
  process.stderr.write(`${isOurs ? error.message : (error as Error).stack}\n`);
  process.exitCode = 1;
}

function common({ agent, rounds, restart, fast }: ConformanceOptions) {
  const began = Date.now();
  const note = (text: string) =>
    process.stderr.write(`${Math.round((Date.now() - began) / 1000)} s: ${text} …\n`);
  return { agent, rounds, restart, fast, over, note };
}

async function real(given: ConformanceOptions, engineUrl: string): Promise<RunResult> {
  const { ledger, config, engineVersion: expected } = given;
  const yaml = config === undefined ? undefined : await readConfig(config);
  const read = ledger === undefined ? undefined : () => fetchLedger(ledger);
  return runConformance({ ...common(given), engineUrl, expected, config: yaml, ledger: read });
}

async function readConfig(file: string): Promise<string> {
  return readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    throw new InputError(`--config ${file}: expected a training config, could not read it (${error.code})`);
  });
}

async function standIns(given: ConformanceOptions): Promise<RunResult[]> {
  const versions = given.engineVersion === undefined ? engineVersions : [given.engineVersion];
  const results: RunResult[] = [];
  for (const version of versions) {
    process.stderr.write(`the stand-in, ${version}\n`);
    results.push(await standIn(given, version));
  }
  return results;
}

/** Small batches, so that there are several; long enough syncs for them to be seen. */
async function standIn(given: ConformanceOptions, engineVersion: EngineVersion): Promise<RunResult> {
  const [tasks, repeats] = given.fast ? [2, 2] : [4, 4];
  const engine = await startEngine({
    clock,
    seed: 1,
    model: createModel({ tasks: generateProblems({ seed: 1, count: 200 }), seed: 1 }),
    config: {
      engineVersion,
      batchTasks: tasks,
      repeats,
      bootSeconds: 1,
      syncSeconds: 2,
      ackSeconds: 0.05,
      discardCheckSeconds: 1,
      modelSeconds: (random) => (given.fast ? 0.1 : 0.3) + random() * 0.5,
    },
  });
  const config = `ajet:\n  data:\n    train_batch_size: ${tasks}\n  rollout:\n    num_repeat: ${repeats}\n`;
  const run: RunOptions = {
    ...common(given),
    engineUrl: engine.url,
    expected: engineVersion,
    config,
    ledger: async () => standInOutputs(engine.ledger),
    keep: (folder) =>
      writeFile(
        join(folder, "ledger.jsonl"),
        engine.ledger.entries.map((entry) => JSON.stringify(entry)).join("\n"),
      ),
  };
  try {
    return await runConformance(run);
  } finally {
    await engine.close();
  }
}

function render({ engine, version, rows, seconds, ok }: RunResult): string {
  const table = new Table({ head: ["row", "expected", "found", "ok"], style: { head: [], border: [] } });
  for (const { row, expected, found, ok: holds } of rows)
    table.push([row, expected, found, holds ? "yes" : "NO"]);
  const verdict = ok ? "every row holds" : `${rows.filter((one) => !one.ok).length} rows fail`;
  return `${table.toString()}\n${engine} (${version}): ${verdict}, ${seconds.toFixed(0)} s\n`;
}
