/** How `sortie … --local` finds a system that runs on this machine: a file that `npm start -- --serve` keeps. */
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, extname, join } from "node:path";
import * as z from "zod";
import { packageRoot } from "../functions/entries.ts";
import { CommandFailure } from "./failures.ts";

const url = z.string().min(1);
export const localRunSchema = z.object({
  v: z.literal(1),
  /** Of the process that serves. */
  pid: z.number().int().positive(),
  /** ISO 8601. */
  started_at: z.string(),
  region: z.string(),
  endpoints: z.object({ sqs: url, dynamodb: url }),
  engine_url: url,
  table: z.string().min(1),
  fleets: z.array(z.object({ name: z.string(), engine: z.string(), queueUrl: url, deadLetterQueueUrl: url })),
  rolloutTtlDays: z.number().positive().optional(),
  /** The folder of transcripts. */
  transcripts: z.string().optional(),
  /** The lines of all functions. */
  log: z.string(),
});
export type LocalRun = z.infer<typeof localRunSchema>;

/** `SORTIE_LOCAL_RUN`, or `.local/run.json` in a checkout; of the installed package, in the folder of the project. */
export function localRunFile(environment: NodeJS.ProcessEnv = process.env): string {
  const project = extname(import.meta.filename) === ".js" ? process.cwd() : packageRoot;
  return environment["SORTIE_LOCAL_RUN"] || join(project, ".local", "run.json");
}

const START_ONE = "start one with: npm start -- --serve";

/** @throws CommandFailure where no local system runs */
export async function readLocalRun(file = localRunFile()): Promise<LocalRun> {
  const text = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT")
      throw new CommandFailure(`expected a local system, found none running: ${START_ONE}`, error);
    throw new CommandFailure(`${file} cannot be read (${error.code}): check who owns it`, error);
  });
  const run = decode(text);
  if (!run)
    throw new CommandFailure(
      `${file} does not describe a local run of this release: stop that run, and ${START_ONE}`,
    );
  if (isAlive(run.pid)) return run;
  throw new CommandFailure(
    `the local system that was started at ${run.started_at} is gone (process ${run.pid}): ${START_ONE}`,
  );
}

/** Whoever serves says so; nobody ever reads half of it. @throws CommandFailure where another run lives */
export async function announceLocalRun(run: LocalRun, file = localRunFile()): Promise<void> {
  const other = decode(await readFile(file, "utf8").catch(() => ""));
  if (other && other.pid !== run.pid && isAlive(other.pid))
    throw new CommandFailure(
      `a local system runs already, since ${other.started_at} (process ${other.pid}): stop it first, or set ` +
        "SORTIE_LOCAL_RUN to another file",
    );
  await mkdir(dirname(file), { recursive: true });
  const draft = `${file}.${run.pid}`;
  await writeFile(draft, `${JSON.stringify(run, null, 2)}\n`);
  await rename(draft, file);
}

/** Takes the announcement back, unless it is somebody else's by now. */
export async function retractLocalRun({ pid }: Pick<LocalRun, "pid">, file = localRunFile()): Promise<void> {
  const announced = decode(await readFile(file, "utf8").catch(() => ""));
  if (announced?.pid === pid) await rm(file, { force: true });
}

function decode(text: string): LocalRun | undefined {
  try {
    return localRunSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/** Signal 0 asks without doing anything; EPERM is somebody else's process, which lives. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
