/**
 * Does the engine wait? `npm run bench:tail`: the same rollouts with a heavy tail, by the reference client's way and by
 * Sortie, each on a stand-in engine of its own in a process of its own, one after the other. `--help` has the options.
 */
import { type ChildProcess, fork, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import Table from "cli-table3";
import { Command } from "commander";
import { machine } from "../machine.ts";
import { type Watched, watchEngine } from "./monitor.ts";
import { picture } from "./picture.ts";
import type { Work } from "./reference.ts";
import { startSortie } from "./sortie.ts";
import { type TailRollout, tailRollouts } from "./tasks.ts";

const REPEATS = 4;
const BATCH_TASKS = 16;
const SLOTS = BATCH_TASKS * REPEATS;
const SYNC_SECONDS = 5;
const MEMORY_GB = 0.5;

interface Options {
  readonly seconds: number;
  readonly seed: number;
  readonly times: number;
  readonly places: number;
  readonly tasks: number;
  readonly only?: "reference" | "sortie";
  readonly set: Readonly<Record<string, unknown>>;
  readonly picture?: string;
  readonly json: boolean;
}
interface Row {
  readonly name: string;
  readonly ended: number;
  /** Null where no function ran. */
  readonly functionSeconds: number | null;
  readonly watched: Watched;
}

const whole = (text: string) => Number.parseInt(text, 10);
const options = new Command("npm run bench:tail --")
  .option("--seconds <n>", "how long each run lasts", whole, 240)
  .option("--seed <n>", "of the durations", whole, 1)
  .option("--times <n>", "runs of each", whole, 2)
  .option("--places <n>", "episodes at once for Sortie; the reference has 64 threads", whole, 70)
  .option("--tasks <n>", "tasks in the queue, four rollouts each", whole, 400)
  .option("--only <name>", "reference or sortie")
  .option(
    "--set <key=value>",
    "a setting of Sortie's, as JSON; may be repeated",
    (pair, sum) => {
      const [key = "", ...value] = pair.split("=");
      return { ...sum, [key]: JSON.parse(value.join("=")) as unknown };
    },
    {},
  )
  .option("--picture <file.svg>", "draws slots over time")
  .option("--json", "prints the rows as JSON", false)
  .parse()
  .opts<Options>();

const rollouts = tailRollouts({ seed: options.seed, tasks: options.tasks, repeats: REPEATS });
const rows: Row[] = [];
for (let time = 0; time < options.times; time += 1) {
  if (options.only !== "sortie") rows.push(await measure("reference, 64 threads", byReference));
  if (options.only !== "reference") rows.push(await measure(`Sortie, ${options.places} places`, bySortie));
}
console.log(options.json ? JSON.stringify(rows.map(figures)) : tableOf(rows));
if (options.picture !== undefined) await writeFile(options.picture, picture(rows, SLOTS));

type Runner = (
  engineUrl: string,
) => Promise<{ functionSeconds: () => number | null; close: () => Promise<void> }>;

/** One run: engine up, runner at work, watched for the time; the engine's own ledger says what ended. */
async function measure(name: string, start: Runner): Promise<Row> {
  const engine = await startEngineProcess();
  const runner = await start(engine.url);
  const watched = await watchEngine(engine.url, SLOTS, options.seconds);
  const functionSeconds = runner.functionSeconds();
  await runner.close();
  const ended = await engine.stop();
  process.stderr.write(`${name}: ${watched.syncs} weight syncs, ${ended} episodes ended\n`);
  return { name, ended, functionSeconds, watched };
}

async function bySortie(engineUrl: string) {
  return await startSortie({ engineUrl, rollouts, places: options.places, settings: options.set });
}

async function byReference(engineUrl: string) {
  const child = fork(join(import.meta.dirname, "reference-process.ts"));
  const work: Work = { engineUrl, rollouts: rollouts satisfies TailRollout[], threads: 64, seconds: 3600 };
  child.send(work);
  return { functionSeconds: () => null, close: () => end(child) };
}

async function startEngineProcess(): Promise<{ url: string; stop: () => Promise<number> }> {
  const flags = `--port 0 --batch ${BATCH_TASKS} --repeats ${REPEATS} --slots ${SLOTS} --boot 1 --sync ${SYNC_SECONDS} --model 0.05`;
  const entry = join(import.meta.dirname, "../../local/engine/main.ts");
  const child = spawn(process.execPath, [entry, ...flags.split(" ")], { stdio: ["ignore", "pipe", "pipe"] });
  const said = createInterface({ input: child.stdout });
  let summary = "{}";
  said.on("line", (line) => {
    summary = line;
  });
  const [line] = (await once(createInterface({ input: child.stderr }), "line")) as [string];
  const stop = async () => {
    await end(child, "SIGINT");
    return (JSON.parse(summary) as { counted?: number }).counted ?? 0;
  };
  return { url: line.split(" ").at(-1) ?? "", stop };
}

async function end(child: ChildProcess, signal: NodeJS.Signals = "SIGKILL"): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill(signal);
  await once(child, "close");
}

function figures({ name, ended, functionSeconds, watched }: Row) {
  const { seconds, syncs, shares, idle, waits } = watched;
  const longest = Math.max(0, ...waits.map((wait) => wait.seconds));
  const waitedFor = waits.find((wait) => wait.seconds === longest)?.tasks ?? [];
  const gbSeconds = functionSeconds === null || ended === 0 ? null : (functionSeconds * MEMORY_GB) / ended;
  return {
    name,
    seconds,
    ended,
    syncs,
    post: shares["ROLLING_POST"] ?? 0,
    idle,
    gbSeconds,
    longest,
    waitedFor,
  };
}

function tableOf(all: readonly Row[]): string {
  const table = new Table({
    head: [
      "",
      "episodes ended",
      "weight syncs",
      "time in ROLLING_POST",
      "slots idle while ROLLING",
      "GB-s an episode",
      "longest wait, and for whom",
    ],
    style: { head: [], border: [] },
  });
  const percent = (share: number) => `${(share * 100).toFixed(1)} %`;
  for (const row of all.map(figures))
    table.push([
      row.name,
      row.ended,
      row.syncs,
      percent(row.post),
      percent(row.idle),
      row.gbSeconds?.toFixed(2) ?? "–",
      row.longest === 0 ? "–" : `${row.longest.toFixed(0)} s: ${row.waitedFor.slice(0, 3).join(", ")}`,
    ]);
  return `${table.toString()}\n${options.seconds} s each, seed ${options.seed}; ${machine()}`;
}
