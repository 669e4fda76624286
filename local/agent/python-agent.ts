/**
 * A Python agent as a service on this machine: the kit runs it, its lines are shown with the rollout that they belong to,
 * and it starts anew when its file is saved.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { watch } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import * as z from "zod";
import { packageRoot } from "../../functions/entries.ts";
import { InputError } from "../input-error.ts";
import { forEachLine } from "../lambda/lines.ts";

export interface PythonAgentOptions {
  readonly file: string;
  readonly python: string;
  /** Gets what the agent says, a line each, and what becomes of it. */
  readonly show: (line: string) => void;
}
export interface PythonAgent {
  readonly url: string;
  close(): Promise<void>;
}

const kit = join(packageRoot, "agents", "python", "sortie_agent.py");
/** An editor writes a file in several steps. */
const SAVED_MS = 200;
/** How many lines say why it did not start. */
const LAST_LINES = 40;

const lineSchema = z.union([
  z.object({ ready: z.literal(true), port: z.number() }),
  z.object({ line: z.string(), rollout: z.string().nullish() }),
]);

/** Resolves when it answers. @throws InputError in the kit's own words, where it does not start */
export async function startPythonAgent(options: PythonAgentOptions): Promise<PythonAgent> {
  const service = new Service(options);
  const port = await service.start(0);
  const watcher = watch(dirname(resolve(options.file)), (_, name) => {
    if (name === basename(options.file)) service.saved();
  });
  return {
    url: `http://127.0.0.1:${port}`,
    close: async () => {
      watcher.close();
      await service.stop();
    },
  };
}

class Service {
  readonly #options: PythonAgentOptions;
  #child: ChildProcess | undefined;
  #port = 0;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: PythonAgentOptions) {
    this.#options = options;
  }

  /** Resolves to the port that it took. */
  async start(port: number): Promise<number> {
    const { file, python } = this.#options;
    const child = spawn(python, [kit, file, "--port", String(port), "--json"], {
      env: { ...process.env, PYTHONUNBUFFERED: "1" },
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#child = child;
    const last: string[] = [];
    const ready = Promise.withResolvers<number>();
    let isReady = false;
    const hear = (text: string) => {
      const said = lineOf(text);
      if ("ready" in said) {
        isReady = true;
        ready.resolve(said.port);
      } else if (isReady) this.#options.show(shownLine(said));
      else last.push(said.line);
    };
    for (const stream of [child.stdout, child.stderr]) forEachLine(stream, hear);
    child.on("error", (error) => ready.reject(new InputError(missing(python, error))));
    child.on("close", (code) => {
      if (!isReady) ready.reject(new InputError(last.slice(-LAST_LINES).join("\n") || `exit code ${code}`));
      else if (this.#child === child && !this.#closed)
        this.#options.show(`the agent ended (exit code ${code}); it starts again when ${file} is saved`);
    });
    this.#port = await ready.promise;
    return this.#port;
  }

  saved(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#restart(), SAVED_MS);
  }

  async stop(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await end(this.#child);
  }

  async #restart(): Promise<void> {
    if (this.#closed) return;
    const old = this.#child;
    this.#child = undefined;
    await end(old);
    if (this.#closed) return;
    try {
      await this.start(this.#port);
      this.#options.show(`${this.#options.file} was saved: started again`);
    } catch (error) {
      this.#options.show((error as Error).message);
    }
  }
}

async function end(child: ChildProcess | undefined): Promise<void> {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null || !child.pid) return;
  const ended = new Promise((done) => child.once("close", done));
  child.kill("SIGKILL");
  await ended;
}

/** What is no line of the kit's was written past it, by a child of the agent's or by Python itself. */
function lineOf(text: string): z.infer<typeof lineSchema> {
  try {
    return lineSchema.parse(JSON.parse(text));
  } catch {
    return { line: text };
  }
}

function shownLine({ line, rollout }: { line: string; rollout?: string | null | undefined }): string {
  return rollout ? `[${rollout}] ${line}` : line;
}

function missing(python: string, error: Error): string {
  return (
    `expected Python 3.10 or newer as ${python}, which could not be started (${error.message}): ` +
    "install it, or name yours by --python"
  );
}
