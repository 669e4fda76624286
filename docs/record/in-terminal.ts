/** Runs a command in a terminal of a given size, and hears what it writes there. */
import { spawn } from "node:child_process";
import { delimiter, join } from "node:path";
import type { Size } from "./terminal.ts";

export interface InTerminal {
  /** What was written so far, and when (ms since the beginning). */
  readonly written: readonly { readonly at: number; readonly text: string }[];
  readonly ended: Promise<number | null>;
  /** Ctrl-C. */
  interrupt(): void;
}

const root = join(import.meta.dirname, "../..");

/** `script` (util-linux) gives it a terminal. `line` is for a shell. */
export function inTerminal(
  line: string,
  { columns, rows }: Size,
  options: { cwd?: string; env?: NodeJS.ProcessEnv } = {},
): InTerminal {
  const began = Date.now();
  const written: { at: number; text: string }[] = [];
  const command = `stty columns ${columns} rows ${rows}; ${line}`;
  const path = [join(root, "node_modules/.bin"), process.env["PATH"]].join(delimiter);
  const { NO_COLOR: _, CI: __, ...inherited } = process.env;
  const env = { ...inherited, ...options.env, PATH: path, TERM: "xterm-256color", FORCE_COLOR: undefined };
  const child = spawn("script", ["-qefc", command, "/dev/null"], {
    cwd: options.cwd ?? root,
    env,
    stdio: ["pipe", "pipe", "ignore"],
  });
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    written.push({ at: Date.now() - began, text });
  });
  const ended = new Promise<number | null>((resolve, reject) => {
    child.on("error", reject).on("close", resolve);
  });
  return { written, ended, interrupt: () => void child.stdin.write("\u0003") };
}
