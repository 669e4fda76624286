/** Runs a command line in this process: all of it but the process itself, with the environment that the test gives. */
import { PassThrough, Readable } from "node:stream";
import { vi } from "vitest";
import type { Io } from "../../cli/io.ts";
import { run } from "../../cli/program.ts";

export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
  /** What went to the terminal for bars and live lines. */
  readonly progress: string;
  readonly json: () => unknown;
}

export interface Circumstances {
  readonly environment?: Readonly<Record<string, string>>;
  readonly input?: string;
  /** What somebody answers on the terminal; nobody is there without it. */
  readonly answer?: string;
  readonly stop?: AbortSignal;
  readonly columns?: number;
  readonly terminal?: boolean;
  /** Unix ms, and what a pause does. */
  readonly now?: () => number;
  readonly pause?: Io["pause"];
  /** Default: text stays without styles. */
  readonly style?: Io["style"];
}

export async function sortie(args: readonly string[], given: Circumstances = {}): Promise<Ran> {
  vi.unstubAllEnvs();
  for (const name of ["SORTIE_TABLE", "SORTIE_STACK", "AWS_PROFILE"]) vi.stubEnv(name, undefined);
  for (const [name, value] of Object.entries(given.environment ?? {})) vi.stubEnv(name, value);
  const written = { out: "", err: "", progress: "" };
  const progress = new PassThrough();
  progress.on("data", (chunk) => {
    written.progress += String(chunk);
  });
  const io: Io = {
    out: (text) => {
      written.out += text;
    },
    err: (text) => {
      written.err += text;
    },
    style: given.style ?? ((_, text) => text),
    columns: given.columns,
    outIsTerminal: given.terminal ?? false,
    input: Readable.from([Buffer.from(given.input ?? "")]),
    progress: Object.assign(progress, { isTTY: given.terminal ?? false, columns: 200 }),
    now: given.now ?? Date.now,
    pause: given.pause ?? (async () => undefined),
    interrupted: () => given.stop ?? new AbortController().signal,
    ask: async () => given.answer,
  };
  const code = await run(args, io);
  return { code, ...written, json: () => JSON.parse(written.out) };
}
