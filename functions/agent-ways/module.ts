/** Agents that are compiled in, beside the function's work. */
import { AgentHosts } from "../adapters/agents/index.ts";
import { agentEnvironment } from "../agent-environment.ts";
import type { Hosted } from "../agent-host.ts";
import type { CreateAgents } from "../agent-way.ts";

const createAgents: CreateAgents = async ({ environment, credentials, entry, offsetMs, log }) => {
  const agents = new AgentHosts({
    entry,
    hosted: { engineUrl: environment.engineUrl, guarded: credentials !== undefined } satisfies Hosted,
    environment: agentEnvironment(process.env),
    memoryMb: Number(process.env["AWS_LAMBDA_FUNCTION_MEMORY_SIZE"] ?? 512),
    blockSeconds: environment.agentBlockSeconds,
    offsetMs,
    token:
      credentials &&
      (async (renew) => {
        if (renew) await credentials.renew();
        return { headers: await credentials.headers(), version: credentials.version };
      }),
    log,
  });
  // A fleet whose agent cannot be loaded must not take a message.
  await agents.ready();
  return agents;
};
export default createAgents;
