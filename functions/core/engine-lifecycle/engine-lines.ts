/**
 * The lines that a newer engine's own terminal shows: its own are kept for `sortie engine log`, and Sortie puts there what it
 * does. All of it goes on beside a tick, and nothing waits for it.
 */
import * as z from "zod";
import type { Clock } from "../clock.ts";
import type { NewerEngine } from "../engine.ts";
import { describeError, NotOfferedError, redact, shorten } from "../errors.ts";
import type { Log } from "../log.ts";
import type { VerboseLog } from "../protocol.ts";

const lineSchema = z.object({
  /** Unix ms; null where the engine's own time could not be read. */
  at: z.number().nullable(),
  tag: z.string(),
  message: z.string(),
});
export type EngineLine = z.infer<typeof lineSchema>;

export const engineLinesSchema = z.object({
  v: z.literal(1),
  /** Unix ms of the last look that brought something new. */
  looked_at: z.number(),
  /** False where the engine is too old to have them. */
  offered: z.boolean(),
  /** The oldest first. */
  lines: z.array(lineSchema),
});
export type EngineLines = z.infer<typeof engineLinesSchema>;

export interface EngineLinesStore {
  read(engine: string): Promise<EngineLines | undefined>;
  write(engine: string, lines: EngineLines): Promise<void>;
}

export interface LinesPorts {
  readonly clock: Clock;
  readonly log: Log;
  readonly engine: Pick<NewerEngine, "logs" | "pushLog">;
  readonly store: EngineLinesStore;
}

/** The tag of Sortie's own lines. */
export const TAG = "sortie";
const PUSH_EVERY_MS = 10_000;
const PUSH_MS = 2000;
/** An engine that does not offer them may be updated. */
const ASK_AGAIN_MS = 600_000;
/** How long a tick that is over waits for what is on its way. */
const PATIENCE_MS = 2000;
const MOST_LINES = 200;
const MOST_WAITING = 20;
const LINE_LIMIT = 500;

/** One for as long as the function's process lives: it remembers when it last spoke, and where it is not offered. */
export class LinesExchange {
  readonly #engineName: string;
  #waiting: string[] = [];
  #spokeAt = Number.NEGATIVE_INFINITY;
  #askAt = Number.NEGATIVE_INFINITY;
  #running: Promise<void> | undefined;

  constructor(engineName: string) {
    this.#engineName = engineName;
  }

  /** To be put there at the next exchange; of too many in ten seconds the oldest are left out. */
  say(text: string): void {
    this.#waiting = [...this.#waiting, text].slice(-MOST_WAITING);
  }

  /** Starts one beside whatever else is done, unless one is under way. */
  begin(ports: LinesPorts): void {
    if (this.#running !== undefined || ports.clock.now() < this.#askAt) return;
    this.#running = this.#exchange(ports)
      .catch((error: unknown) => this.#failed(ports, error))
      .finally(() => {
        this.#running = undefined;
      });
  }

  /** Resolves when nothing is under way, or after two seconds. */
  async end({ clock }: Pick<LinesPorts, "clock">): Promise<void> {
    if (this.#running !== undefined) await Promise.race([this.#running, clock.sleep(PATIENCE_MS)]);
  }

  async #exchange(ports: LinesPorts): Promise<void> {
    await this.#speak(ports);
    await keep(ports, this.#engineName, await ports.engine.logs());
  }

  async #speak({ clock, engine }: LinesPorts): Promise<void> {
    if (this.#waiting.length === 0 || clock.now() - this.#spokeAt < PUSH_EVERY_MS) return;
    const message = bounded(this.#waiting.join("; "));
    this.#waiting = [];
    this.#spokeAt = clock.now();
    await engine.pushLog({ tag: TAG, message }, { timeoutMs: PUSH_MS });
  }

  async #failed({ clock, log, store }: LinesPorts, error: unknown): Promise<void> {
    if (!(error instanceof NotOfferedError)) {
      log("info", "the engine's lines were not exchanged", { error: describeError(error, 200) });
      return;
    }
    this.#askAt = clock.now() + ASK_AGAIN_MS;
    this.#waiting = [];
    const none: EngineLines = { v: 1, looked_at: clock.now(), offered: false, lines: [] };
    await store.write(this.#engineName, none).catch(() => undefined);
  }
}

async function keep({ clock, store }: LinesPorts, engine: string, entries: VerboseLog[]): Promise<void> {
  const known = await store.read(engine);
  const before = known?.lines ?? [];
  const names = new Set(before.map((line) => JSON.stringify(line)));
  const news = entries.map(lineOf).filter((line) => !names.has(JSON.stringify(line)));
  if (news.length === 0 && known?.offered === true) return;
  const lines = [...before, ...news].slice(-MOST_LINES);
  await store.write(engine, { v: 1, looked_at: clock.now(), offered: true, lines });
}

function lineOf({ timestamp, tag, message }: VerboseLog): EngineLine {
  const at = typeof timestamp === "number" ? timestamp * 1000 : Date.parse(timestamp ?? "");
  return {
    at: Number.isFinite(at) ? Math.round(at) : null,
    tag: shorten(redact(tag), 60),
    message: bounded(message),
  };
}

function bounded(text: string): string {
  return shorten(redact(text), LINE_LIMIT);
}

/** Starts, stops, alarms and sweeps, as the function logs them, are said to the engine too. */
export function tellingEngine(log: Log, lines: Pick<LinesExchange, "say">): Log {
  return (level, message, facts) => {
    log(level, message, facts);
    const told = TOLD[message]?.(facts ?? {});
    if (told !== undefined) lines.say(told);
  };
}

export const messagesToEngine = {
  starting: "starting the engine",
  stopping: "stopping the engine",
  attention: "the engine needs attention",
  swept: "swept",
} as const;

const TOLD: Readonly<Record<string, (facts: Record<string, unknown>) => string>> = {
  [messagesToEngine.starting]: ({ why }) => `starts the engine: ${why}`,
  [messagesToEngine.stopping]: ({ why }) => `stops the engine: ${why}`,
  [messagesToEngine.attention]: ({ alarm, text }) => `alarm ${alarm}: ${text}`,
  [messagesToEngine.swept]: (counts) =>
    `swept: ${Object.entries(counts)
      .filter(([, count]) => count !== 0)
      .map(([name, count]) => `${count} ${name}`)
      .join(", ")}`,
};
