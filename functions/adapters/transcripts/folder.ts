/** Transcripts in a folder, for a run on this machine. */
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { TranscriptStore } from "../../core/transcript/store.ts";
import type { TranscriptFiles } from "./files.ts";
import { pathOf } from "./place.ts";

export function folderStore(folder: string): TranscriptStore {
  return {
    async put(text, about) {
      const file = join(folder, pathOf(about));
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, text);
    },
  };
}

export function folderTranscripts(folder: string): TranscriptFiles {
  return {
    async *list(prefix) {
      yield* await filesUnder(folder, prefix);
    },
    read: async (path) => await orNothing(readFile(join(folder, path), "utf8")),
  };
}

/** `prefix` is a folder's. */
async function filesUnder(folder: string, prefix: string): Promise<string[]> {
  const entries = (await orNothing(readdir(join(folder, prefix), { withFileTypes: true }))) ?? [];
  const names = entries.map((entry) => `${prefix}${entry.name}${entry.isDirectory() ? "/" : ""}`).sort();
  const found = await Promise.all(
    names.map(async (name) => (name.endsWith("/") ? await filesUnder(folder, name) : [name])),
  );
  return found.flat();
}

async function orNothing<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
