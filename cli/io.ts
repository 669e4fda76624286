/** What a command may do to the world outside: write, colour, ask for the time. */
import { styleText } from "node:util";

export type Style = (format: "bold" | "dim" | "red" | "yellow", text: string) => string;

export interface Io {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** Colours, where standard output is a terminal that wants them (`NO_COLOR` and `FORCE_COLOR` count). */
  readonly style: Style;
  /** Columns of the terminal, where there is one. */
  readonly columns: number | undefined;
  /** Unix ms. */
  readonly now: () => number;
}

export const processIo: Io = {
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
  style: (format, text) => styleText(format, text, { stream: process.stdout, validateStream: true }),
  columns: process.stdout.columns,
  now: Date.now,
};

/** `sortie stats | head -1` closes the pipe early; that is no error. */
export function exitQuietlyOnClosedPipe(): void {
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
    process.exit();
  });
}
