/** Where the functions' entries and the shipped agents are, wherever this package is installed. */
import { basename, join } from "node:path";

const folder = join(import.meta.dirname, "..");
/** The folder of this package: the functions are bundled from its sources, also where this file was compiled. */
export const packageRoot = basename(folder) === "dist" ? join(folder, "..") : folder;

/** Each exports `handler`. */
export const entries = {
  rollout: join(packageRoot, "functions", "rollout-entry.ts"),
  lifecycle: join(packageRoot, "functions", "lifecycle.ts"),
  fleetNames: join(packageRoot, "functions", "fleet-names.ts"),
} as const;

/** The module name by which `functions/agent-host.ts` imports its agent; the bundler points it at the fleet's own. */
export const AGENT_SPECIFIER = "#agent";

/** The module name by which `functions/rollout.ts` imports the way in which a fleet's agents run. */
export const AGENT_WAY_SPECIFIER = "#agent-way";

export const agentWays = {
  module: join(packageRoot, "functions", "agent-ways", "module.ts"),
  http: join(packageRoot, "functions", "agent-ways", "http.ts"),
  lambda: join(packageRoot, "functions", "agent-ways", "lambda.ts"),
  agentcore: join(packageRoot, "functions", "agent-ways", "agentcore.ts"),
} as const;

/** One `<name>.ts` per agent that ships with the project. */
export const agentsFolder = join(packageRoot, "agents");

/** The file of a shipped agent; whether there is one is for the caller to see. */
export function shippedAgentEntry(name: string): string {
  return join(agentsFolder, `${name}.ts`);
}
