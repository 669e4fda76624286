import { createWriteStream } from "node:fs";
import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import { finished } from "node:stream/promises";
import type { LogEntry } from "./lambda/invocation.ts";

export interface LogFile {
  /** Appends a function's line as it was written: a JSON line stays one. */
  write(entry: LogEntry): void;
  /** Appends a line of the host's own, as JSON. */
  note(source: string, message: string): void;
  close(): Promise<void>;
}

/** Opens (or goes on with) the log of a local run: the lines of all functions, one after another. */
export async function openLogFile(path: string): Promise<LogFile> {
  await mkdir(dirname(path), { recursive: true });
  const stream = createWriteStream(path, { flags: "a" });
  return {
    write: ({ line }) => stream.write(`${line}\n`),
    note: (source, message) => {
      const timestamp = new Date().toISOString();
      stream.write(`${JSON.stringify({ timestamp, level: "WARN", source, message })}\n`);
    },
    close: async () => {
      stream.end();
      await finished(stream);
    },
  };
}
