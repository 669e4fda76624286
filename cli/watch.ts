/** Frames of text, each in the place of the one before; one after another where there is no terminal. */
import type { Io } from "./io.ts";
import { marked, printable } from "./terminal-text.ts";

const HOME = marked("\u001b[H");
const CLEAR_ALL = marked("\u001b[2J");
const CLEAR_TO_END_OF_LINE = "\u001b[K";
const CLEAR_BELOW = marked("\u001b[J");

type FrameIo = Pick<Io, "out" | "outIsTerminal" | "rows">;

export class Frames {
  readonly #io: FrameIo;
  #drawn = 0;

  constructor(io: FrameIo) {
    this.#io = io;
  }

  draw(text: string): void {
    const { out, outIsTerminal, rows } = this.#io;
    const first = this.#drawn === 0;
    this.#drawn += 1;
    if (!outIsTerminal) {
      out(first ? text : `\n${text}`);
      return;
    }
    // Drawn over, not cleared first: it does not flicker.
    const lines = cutBelow(text, rows).replaceAll("\n", `${marked(CLEAR_TO_END_OF_LINE)}\n`);
    out(`${first ? CLEAR_ALL : ""}${HOME}${lines}${CLEAR_BELOW}`);
  }
}

/** A frame that is taller than the terminal would scroll it, and leave its upper lines behind. */
function cutBelow(text: string, rows = Number.POSITIVE_INFINITY): string {
  const lines = text.split("\n");
  const whole = lines.length - 1;
  // The cursor stands on a line of its own below the frame.
  if (whole < rows) return text;
  const shown = Math.max(1, rows - 2);
  return `${lines.slice(0, shown).join("\n")}\n… ${whole - shown} more lines: a taller terminal shows them\n`;
}

/** One line that is written again and again on a terminal, and once for each change elsewhere. */
export class LiveLine {
  readonly #stream: Io["progress"];
  #shown = "";

  constructor({ progress }: Pick<Io, "progress">) {
    this.#stream = progress;
  }

  /** `ticking` is what changes with time alone: only a terminal sees it. */
  show(words: string, ticking = ""): void {
    const text = printable(words);
    if (this.#stream.isTTY)
      this.#stream.write(`\r${cut(`${text}${ticking}`, this.#stream.columns)}${CLEAR_TO_END_OF_LINE}`);
    else if (text !== this.#shown) this.#stream.write(`${text}\n`);
    this.#shown = text;
  }

  /** Leaves the last line standing. */
  end(): void {
    if (this.#stream.isTTY && this.#shown !== "") this.#stream.write("\n");
  }
}

function cut(text: string, columns = 80): string {
  return text.length < columns ? text : `${text.slice(0, columns - 2)}…`;
}
