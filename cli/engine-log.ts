/** `sortie engine log`: what the engine's own terminal has shown, as the lifecycle function has seen it. */
import type { TableOptions } from "../functions/adapters/table/client.ts";
import { createEngineLinesStore } from "../functions/adapters/table/engine-lines.ts";
import type { EngineLine, EngineLines } from "../functions/core/engine-lifecycle/engine-lines.ts";
import { CommandFailure, Interrupted } from "./failures.ts";
import { type Io, printJson } from "./io.ts";
import { printable } from "./terminal-text.ts";

export interface LogOptions {
  readonly engine: string;
  readonly json?: boolean;
  readonly follow?: boolean;
}

const LOOK_MS = 2000;

/** @throws CommandFailure where nobody has looked yet, or the engine is too old */
export async function showLog(table: TableOptions, options: LogOptions, io: Io): Promise<void> {
  const { engine, json, follow } = options;
  const store = createEngineLinesStore(table);
  const found = checked(engine, await store.read(engine));
  if (json) printJson(io, { engine, ...found });
  else print(found.lines, io);
  if (!follow) return;
  const stop = io.interrupted();
  for (let known = found; ; ) {
    await io.pause(LOOK_MS, stop);
    if (stop.aborted) throw new Interrupted("stopped following");
    const next = checked(engine, await store.read(engine));
    const shown = new Set(known.lines.map((line) => JSON.stringify(line)));
    print(
      next.lines.filter((line) => !shown.has(JSON.stringify(line))),
      io,
    );
    known = next;
  }
}

function checked(engine: string, found: EngineLines | undefined): EngineLines {
  if (found === undefined)
    throw new CommandFailure(
      `expected lines of engine ${engine}, found none: the lifecycle function looks at each tick, once a minute, and keeps them for a day`,
    );
  if (!found.offered)
    throw new CommandFailure(
      `expected an engine that tells its lines, found an older one: see its own terminal, or update it`,
    );
  return found;
}

function print(lines: readonly EngineLine[], io: Io): void {
  for (const { at, tag, message } of lines) {
    const time = at === null ? "--:--:--" : new Date(at).toISOString().slice(11, 19);
    io.out(`${time}  ${printable(tag)}  ${printable(message)}\n`);
  }
}
