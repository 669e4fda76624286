/** Where the conversations of a run on this machine are kept: the last few runs', or as long as what the run keeps. */
import { access, constants, mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { localRunFile } from "../../cli/local-run.ts";

const MOST_RUNS = 5;

/** A folder for this run's transcripts; `kept`: the folder that the run keeps, if it does. */
export async function transcriptFolder(kept: string | undefined, now: number): Promise<string> {
  if (kept !== undefined) return join(kept, "transcripts");
  const base = join(dirname(localRunFile()), "transcripts");
  const isOurs = await mkdir(base, { recursive: true })
    .then(async () => await access(base, constants.W_OK))
    .then(
      () => true,
      () => false,
    );
  if (!isOurs) return await mkdtemp(join(tmpdir(), "sortie-transcripts-"));
  const old = (await readdir(base)).sort().slice(0, -(MOST_RUNS - 1));
  await Promise.all(old.map(async (name) => await rm(join(base, name), { recursive: true, force: true })));
  const name = `${new Date(now).toISOString().slice(0, 19).replaceAll(":", "")}-${process.pid}`;
  await mkdir(join(base, name));
  return join(base, name);
}

/** What tells the functions so. */
export function transcriptEnvironment(folder: string): Record<string, string> {
  return { SORTIE_TRANSCRIPTS: pathToFileURL(folder).href };
}
