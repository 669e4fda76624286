/** An agent that is a service: one that runs already, by its address, or a Python file that is served on this machine. */
import { type PythonAgent, type PythonAgentOptions, startPythonAgent } from "./python-agent.ts";

/** Whether an agent is named by its address. */
export function isAddress(agent: string): boolean {
  return /^https?:\/\//.test(agent);
}

/** Undefined where it is no service. @throws InputError as `startPythonAgent` */
export async function startService(
  agent: string,
  options: Omit<PythonAgentOptions, "file">,
): Promise<PythonAgent | undefined> {
  if (isAddress(agent)) return { url: agent, close: async () => undefined };
  return agent.endsWith(".py") ? await startPythonAgent({ ...options, file: agent }) : undefined;
}
