/** The files of a command line, and `-` for standard input. */
import { createReadStream } from "node:fs";
import { access, constants, stat } from "node:fs/promises";
import { basename } from "node:path";
import { CommandFailure } from "../failures.ts";
import type { Io } from "../io.ts";
import type { Format, Source } from "./records.ts";

const formatOfName: readonly [RegExp, Format][] = [
  [/\.(jsonl|ndjson)$/i, "jsonl"],
  [/\.csv$/i, "csv"],
  [/\.parquet$/i, "parquet"],
];

/** @throws CommandFailure for a file that cannot be read */
export async function sourcesOf(
  files: readonly string[],
  format: Format | undefined,
  io: Pick<Io, "input">,
): Promise<Source[]> {
  if (files.filter((file) => file === "-").length > 1)
    throw new CommandFailure("expected - once, found it twice: standard input can be read only once");
  return await Promise.all(
    files.map(async (file): Promise<Source> => {
      if (file === "-") return { name: "standard input", path: undefined, format, open: () => io.input };
      await needReadable(file);
      const unpacked = file.replace(/\.(gz|zst)$/i, "");
      const known = formatOfName.find(([pattern]) => pattern.test(unpacked))?.[1];
      const open = () => createReadStream(file);
      return { name: basename(file), path: file, format: format ?? known, open };
    }),
  );
}

async function needReadable(file: string): Promise<void> {
  try {
    await access(file, constants.R_OK);
    if ((await stat(file)).isDirectory()) throw Object.assign(new Error(), { code: "EISDIR" });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const found = { ENOENT: "no such file", EISDIR: "a folder", EACCES: "one that may not be read" }[
      code ?? ""
    ];
    throw new CommandFailure(`${file}: expected a file of tasks, found ${found ?? code}`, error);
  }
}
