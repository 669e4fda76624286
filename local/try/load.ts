/** The agent that is tried: a module, compiled and run in this process; a Python file, served by the kit; or a service. */
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { BuildFailure } from "esbuild";
import { printable } from "../../cli/terminal-text.ts";
import { httpAgent } from "../../functions/adapters/agent-http/client.ts";
import { createChat, neverSent, sharedDispatcher } from "../../functions/adapters/engine/index.ts";
import type { Agent } from "../../functions/contract/agent.ts";
import { traceError } from "../../functions/core/error-trace.ts";
import type { AgentWork, RunningAgent } from "../../functions/core/rollout/agent-runner.ts";
import { agentsHere } from "../../functions/core/rollout/perform-agent.ts";
import { remoteAgents } from "../../functions/core/rollout/remote-agents.ts";
import { packageRoot } from "../../functions/entries.ts";
import { systemClock as clock } from "../../functions/system-clock.ts";
import { startService } from "../agent/service.ts";
import { bundle } from "../bundle.ts";
import { InputError } from "../input-error.ts";

export interface Loaded {
  start(work: AgentWork): RunningAgent;
  /** Takes what the agent printed since the last time. */
  lines(): string[];
  close(): Promise<void>;
}

/** Where to build, and which Python runs a Python file. */
export interface LoadOptions {
  readonly folder: string;
  readonly python: string;
}

/** Undefined where it cannot be loaded, which `out` has been told. */
export async function loadAgent(
  agent: string,
  options: LoadOptions,
  out: (text: string) => void,
): Promise<Loaded | undefined> {
  const lines: string[] = [];
  const show = (line: string) => void lines.push(withoutRollout(line));
  try {
    const service = await startService(agent, { python: options.python, show });
    if (service === undefined) return await compiled(agent, options.folder, out);
    return { ...served(service.url), lines: () => lines.splice(0), close: () => service.close() };
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    out(`${printable(agent)} cannot be loaded:\n${indented(error.message)}\n`);
    return undefined;
  }
}

function served(url: string): Pick<Loaded, "start"> {
  return remoteAgents(httpAgent({ urls: [url], dispatcher: sharedDispatcher(), neverSent }), clock);
}

/** What stands between the agent and this file. */
const ours = ["functions/", "local/"].map((name) => `${packageRoot}/${name}`);

async function compiled(
  file: string,
  folder: string,
  out: (text: string) => void,
): Promise<Loaded | undefined> {
  const outfile = join(folder, "index.mjs");
  const url = pathToFileURL(outfile).href;
  try {
    // What is wrong is told below, by its lines alone.
    await bundle(resolve(file), outfile, { sourcemap: true, keepNames: true, logLevel: "silent" });
    const { default: agent } = (await import(url)) as { default?: unknown };
    if (typeof agent !== "function")
      throw new TypeError("expected a function as its default export, found none: export default agent");
    const describe = (thrown: unknown) => traceError(thrown, { bundle: url, without: ours });
    const runner = agentsHere(agent as Agent, (grant) => createChat({ ...grant, clock }), describe);
    return { start: (work) => runner.start(work), lines: () => [], close: async () => undefined };
  } catch (error) {
    out(
      `${printable(file)} cannot be loaded:\n${indented(buildFaults(error) ?? traceError(error, { bundle: url }))}\n`,
    );
    return undefined;
  }
}

/** What the bundler could not read or find, by file and line; undefined for what failed later. */
function buildFaults(error: unknown): string | undefined {
  const { errors } = error as Partial<BuildFailure>;
  if (!Array.isArray(errors)) return undefined;
  const lines = (errors as BuildFailure["errors"]).map(({ location, text }) =>
    location ? `${location.file}:${location.line}:${location.column + 1}: ${text}` : text,
  );
  return lines.join("\n");
}

/** One task at a time: whose line it is needs no words. */
function withoutRollout(line: string): string {
  return line.replace(/^\[[^\]]*\] /, "");
}

export function indented(text: string): string {
  return text
    .split("\n")
    .map((line) => `  ${printable(line)}`)
    .join("\n");
}
