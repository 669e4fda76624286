/** What an agent threw, for its author: the error, the lines of the author's own source that it passed, and its causes. */
import { describeError, redact, shorten } from "./errors.ts";

export interface TraceOptions {
  /** The URL of the agent's bundle: paths begin in its folder, and what is of the bundle alone is nobody's source. */
  readonly bundle: string;
  /** Paths of folders whose source is not the author's either. */
  readonly without?: readonly string[];
}

const MOST_FRAMES = 4;
const MOST_CAUSES = 3;
const MESSAGE_LENGTH = 300;
/** Characters of it all: the table keeps as many. */
export const TRACE_LENGTH = 1000;

/**
 * One error a line, then its frames as `at name (my-agent.ts:12:9)`. Where an error has a cause, that follows as
 * `caused by`. Paths are as the source map has them.
 */
export function traceError(error: unknown, options: TraceOptions): string {
  try {
    return shorten(redact(sections(error, options).join("\n")), TRACE_LENGTH);
  } catch {
    // Looking at what was thrown may throw as well: a Proxy with traps.
    return describeError(error, MESSAGE_LENGTH);
  }
}

function sections(error: unknown, options: TraceOptions): string[] {
  const lines: string[] = [];
  let one = error;
  for (let depth = 0; depth <= MOST_CAUSES; depth += 1) {
    const words = describeError(one, MESSAGE_LENGTH);
    lines.push(depth === 0 ? words : `caused by ${words}`);
    if (!(one instanceof Error)) break;
    lines.push(...framesOf(one, options).map((frame) => `  at ${frame}`));
    if (one.cause === undefined) break;
    one = one.cause;
  }
  return lines;
}

/** Node.js's own, Sortie's, and what is in no file. */
const foreign = /node:|node_modules\/sortie\/|\(<anonymous>\)|^<anonymous>$/;

/** A module's own code has no function's name. */
function readable(frame: string): string {
  return /^<anonymous> \((.+)\)$/.exec(frame)?.[1] ?? frame;
}

function framesOf(error: Error, { bundle, without = [] }: TraceOptions): string[] {
  // What follows the message: its own lines may look like frames.
  const { stack = "", message } = error;
  const at = stack.indexOf(message);
  const lines = stack.slice(at < 0 ? 0 : at + message.length).split("\n");
  const frames = lines.flatMap((line) => /^\s+at (.+:\d+:\d+\)?)$/.exec(line)?.[1] ?? []);
  const files = frames.filter((frame) => !foreign.test(frame) && !frame.includes(`${bundle}:`));
  const own = files.filter((frame) => !["node_modules/", ...without].some((path) => frame.includes(path)));
  // An error that a library throws in a callback of its own has none.
  const shown = own.length > 0 ? own.slice(0, MOST_FRAMES) : files.slice(0, 1);
  const folder = new URL(".", bundle).href;
  return shown.map((frame) => readable(frame.replace(folder, "").replace("file://", "")));
}

/** The first line, and the first frame in brackets: for where there is room for one line. */
export function firstOfTrace(trace: string): string {
  const [words = "", ...rest] = trace.split("\n");
  const frame = rest.find((line) => line.startsWith("  at "));
  const place = frame && (/\((.+)\)$/.exec(frame)?.[1] ?? frame.slice("  at ".length));
  return place ? `${words} (${place})` : words;
}
