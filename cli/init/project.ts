/** The files of a project: those of `template/`, a package.json, and Sortie itself as a tarball until it is published. */
import { execFile } from "node:child_process";
import { cp, mkdir, readdir, stat, writeFile } from "node:fs/promises";
import { basename, extname, join, resolve } from "node:path";
import { promisify } from "node:util";
import * as z from "zod";
import { packageRoot } from "../../functions/entries.ts";
import { CommandFailure } from "../failures.ts";
import { projectManifest } from "./manifest.ts";

const run = promisify(execFile);
const template = join(packageRoot, "cli", "init", "template");
/** npm would leave a file of this name out of its tarball. */
const renamed = new Map([["gitignore", ".gitignore"]]);
const packedSchema = z.array(z.object({ filename: z.string() })).length(1);

/** Names of what was written. Nothing is where a file is there already. @throws CommandFailure */
export async function makeProject(dir: string): Promise<string[]> {
  const folder = resolve(dir);
  const sources = await templateFiles();
  const names = sources.map((source) => renamed.get(source) ?? source);
  await refuseExisting(dir, folder, [...names, "package.json"]);
  await mkdir(folder, { recursive: true }).catch((error: NodeJS.ErrnoException) => {
    throw new CommandFailure(`${dir}: expected a folder that can be written to (${error.code})`, error);
  });
  const tarball = await pack(folder);
  for (const [index, source] of sources.entries())
    await cp(join(template, source), join(folder, names[index] ?? source));
  const manifest = projectManifest(packageName(folder), tarball);
  await writeFile(join(folder, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
  return ["package.json", ...names, tarball].sort();
}

async function templateFiles(): Promise<string[]> {
  const entries = await readdir(template, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(template.length + 1));
}

async function refuseExisting(dir: string, folder: string, names: readonly string[]): Promise<void> {
  const found: string[] = [];
  for (const name of names) if (await stat(join(folder, name)).catch(() => undefined)) found.push(name);
  if (found.length > 0)
    throw new CommandFailure(
      `${dir}: expected a folder without these files, found ${found.join(", ")}: nothing was written, name another folder`,
    );
}

/** As npm packs it. What is installed is compiled already; a checkout is compiled first. */
async function pack(folder: string): Promise<string> {
  const words = ["pack", "--json", "--silent", "--pack-destination", folder];
  if (extname(import.meta.filename) === ".js") words.push("--ignore-scripts");
  try {
    const { stdout } = await run("npm", words, { cwd: packageRoot });
    // What the build says comes before it.
    const [packed] = packedSchema.parse(JSON.parse(stdout.slice(stdout.indexOf("[\n"))));
    return basename(packed?.filename ?? "");
  } catch (error) {
    const { stdout = "", stderr = "", message } = error as Error & { stdout?: string; stderr?: string };
    const said = `${stdout}${stderr}` || message;
    throw new CommandFailure(`npm pack of Sortie failed in ${packageRoot}: ${said.trim()}`, error);
  }
}

/** What npm takes as a name, from the folder's. */
function packageName(folder: string): string {
  const name = basename(folder)
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, "-")
    .replace(/^[._-]+/, "");
  return name || "rollouts";
}
