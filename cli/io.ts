/** What a command may do to the world outside: write, colour, ask for the time. */

import { createInterface } from "node:readline/promises";
import type { Readable, Writable } from "node:stream";
import { setTimeout } from "node:timers/promises";
import { styleText } from "node:util";
import { marked, safeJson, terminalText, withoutForeignControls } from "./terminal-text.ts";
import { wrapped } from "./wrap.ts";

export type Style = (format: "bold" | "dim" | "red" | "green" | "yellow", text: string) => string;

/** A stream that may be a terminal. */
export type MaybeTerminal = Writable & { readonly isTTY?: boolean; readonly columns?: number };

export interface Io {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** Colours, where standard output is a terminal that wants them (`NO_COLOR` and `FORCE_COLOR` count). */
  readonly style: Style;
  /** Columns of the terminal, where there is one. */
  readonly columns: number | undefined;
  /** Lines of the terminal, where there is one. */
  readonly rows?: number | undefined;
  /** Whether standard output is a terminal, so that a frame can be drawn over the one before. */
  readonly outIsTerminal: boolean;
  /** Standard input, for `-`. */
  readonly input: Readable & { readonly isTTY?: boolean };
  /** Where bars and live lines go, as it is: who writes others' text to it makes it `printable`. */
  readonly progress: MaybeTerminal;
  /** Unix ms. */
  readonly now: () => number;
  /** Resolves after `ms`, at once when the signal fires. */
  readonly pause: (ms: number, signal: AbortSignal) => Promise<void>;
  /** Fires at the first Ctrl-C from now on; a second one ends the process. */
  readonly interrupted: () => AbortSignal;
  /** Asks on the terminal; undefined where there is nobody to ask. */
  readonly ask: (question: string) => Promise<string | undefined>;
}

export const processIo: Io = {
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
  style: (format, text) => styleText(format, text, { stream: process.stdout, validateStream: true }),
  // As they are now: a window may be resized while a command draws.
  get columns() {
    return process.stdout.columns;
  },
  get rows() {
    return process.stdout.rows;
  },
  outIsTerminal: process.stdout.isTTY === true,
  input: process.stdin,
  progress: process.stderr,
  now: Date.now,
  pause: async (ms, signal) => await setTimeout(ms, undefined, { signal }).catch(() => undefined),
  interrupted: () => {
    const controller = new AbortController();
    process.once("SIGINT", () => controller.abort(new Error("stopped by Ctrl-C")));
    return controller.signal;
  },
  ask: async (question) => {
    if (!process.stdin.isTTY) return undefined;
    const terminal = createInterface({ input: process.stdin, output: process.stderr });
    try {
      return await terminal.question(question);
    } finally {
      terminal.close();
    }
  },
};

/** `sortie stats | head -1` closes the pipe early; that is no error. */
export function exitQuietlyOnClosedPipe(): void {
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
    process.exit();
  });
}

/** One JSON value as the whole of standard output. */
export function printJson(io: Pick<Io, "out">, value: unknown): void {
  io.out(`${safeJson(value, 2)}\n`);
}

/** What commands get: whatever they write has passed `terminalText`, and styles are known to be theirs. */
export function safeIo(io: Io): Io {
  return {
    ...io,
    get columns() {
      return io.columns;
    },
    get rows() {
      return io.rows;
    },
    // A terminal would break a line in the middle of a word.
    out: (text) => io.out(wrapped(terminalText(text), io.columns)),
    err: (text) => io.err(wrapped(terminalText(text), io.columns)),
    style: (format, text) => marked(io.style(format, withoutForeignControls(text))),
    ask: async (question) => await io.ask(terminalText(question)),
  };
}
