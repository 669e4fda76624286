/** `--agent`: a name or a file that is compiled in, the address of a service, or a Python file that is served here. */
import { existsSync } from "node:fs";
import { startPythonAgent } from "../agent/python-agent.ts";
import { InputError } from "../input-error.ts";
import type { JobOptions } from "./options.ts";

export interface StartedAgent {
  /** For the settings. */
  readonly agent: JobOptions["agent"];
  close(): Promise<void>;
}

/** @throws InputError where it cannot be started, in words for its author */
export async function startAgent(
  { agent, python }: Pick<JobOptions, "agent" | "python">,
  show: (line: string) => void,
): Promise<StartedAgent> {
  const nothing = { close: async () => undefined };
  if (typeof agent !== "string") return { agent, ...nothing };
  if (/^https?:\/\//.test(agent)) return { agent: { http: { url: agent } }, ...nothing };
  if (!agent.endsWith(".py")) return { agent, ...nothing };
  if (!existsSync(agent)) throw new InputError(`--agent ${agent}: expected a file, found none`);
  const { url, close } = await startPythonAgent({ file: agent, python, show });
  return { agent: { http: { url } }, close };
}
