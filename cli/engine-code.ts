/** The trainer's code as a zip whose bytes follow from its content alone: sorted names, one date, one mode. */
import type { Dirent } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { type Zippable, zipSync } from "fflate";
import { CODE_BYTES } from "../functions/core/engine-lifecycle/engine-code.ts";
import { CommandFailure } from "./failures.ts";

/** The one folder that an engine takes. */
const PACKAGE = "ajet";
const MOST_FILES = 5000;
/** Before it is packed. */
const MOST_BYTES = 64_000_000;
/** In local time, as a zip has it: the same bytes in every zone. */
const DATE = new Date(1980, 0, 1);
const UNIX = 3;
/** A plain file that all may read. */
const MODE = 0o100_644;

/**
 * @param folder the trainer's package itself, `ajet`, or the folder that holds it
 * @throws CommandFailure where it is no such package, or more than an engine is sent
 */
export async function packCode(folder: string): Promise<Uint8Array> {
  const files = await filesIn(await packageFolder(folder));
  const entries = Object.fromEntries(
    files.map(({ name, data }) => [
      `${PACKAGE}/${name}`,
      [data, { mtime: DATE, os: UNIX, attrs: MODE << 16 }],
    ]),
  ) as Zippable;
  const zip = zipSync(entries, { level: 9 });
  if (zip.length <= CODE_BYTES) return zip;
  throw refused(folder, `at most ${CODE_BYTES} bytes as a zip, found ${zip.length}: ${KEEP_OUT}`);
}

const KEEP_OUT = "keep data and models out of it";

async function packageFolder(folder: string): Promise<string> {
  const candidates = [...(basename(resolve(folder)) === PACKAGE ? [folder] : []), join(folder, PACKAGE)];
  for (const candidate of candidates) if (await isPackage(candidate)) return candidate;
  const found = await readdir(folder).catch((error: NodeJS.ErrnoException) => error.code ?? "an error");
  const shown = typeof found === "string" ? found : found.toSorted().slice(0, 5).join(", ") || "nothing";
  throw refused(
    folder,
    `the trainer's package, a folder ${PACKAGE} with an __init__.py, or the folder that holds it, found ${shown}`,
  );
}

async function isPackage(folder: string): Promise<boolean> {
  const names = await readdir(folder).catch((): string[] => []);
  return names.includes("__init__.py");
}

interface PackedFile {
  readonly name: string;
  readonly data: Uint8Array;
}

async function filesIn(folder: string): Promise<PackedFile[]> {
  const names = (await namesIn(folder, "")).toSorted(byBytes);
  if (names.length > MOST_FILES)
    throw refused(folder, `at most ${MOST_FILES} files, found ${names.length}: ${KEEP_OUT}`);
  const files: PackedFile[] = [];
  let bytes = 0;
  for (const name of names) {
    const data = await readFile(join(folder, name));
    bytes += data.length;
    if (bytes > MOST_BYTES)
      throw refused(folder, `at most ${MOST_BYTES} bytes in all, found more by ${name}: ${KEEP_OUT}`);
    files.push({ name, data });
  }
  return files;
}

/** Paths of plain files, with `/`. */
async function namesIn(folder: string, below: string): Promise<string[]> {
  const names: string[] = [];
  for (const entry of await readdir(join(folder, below), { withFileTypes: true })) {
    if (isLeftOut(entry)) continue;
    const name = below === "" ? entry.name : `${below}/${entry.name}`;
    if (entry.isDirectory()) names.push(...(await namesIn(folder, name)));
    else if (entry.isFile()) names.push(name);
    // A link may lead anywhere, and would make other bytes elsewhere.
    else throw refused(folder, `files and folders, found ${name}, which is neither: take it out`);
  }
  return names;
}

/** What Python makes by itself, and hidden files, among them those with secrets. */
function isLeftOut({ name }: Dirent): boolean {
  return name.startsWith(".") || name === "__pycache__" || /\.py[cod]$/.test(name);
}

function byBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

function refused(folder: string, expected: string): CommandFailure {
  return new CommandFailure(`${folder}: expected ${expected}; nothing was changed`);
}
