/** Agents in a runtime of Amazon Bedrock AgentCore. */
import { BedrockAgentCoreClient } from "@aws-sdk/client-bedrock-agentcore";
import { agentCoreAgent } from "../adapters/agent-agentcore/client.ts";
import { agentOf, type CreateAgents } from "../agent-way.ts";
import { remoteAgents } from "../core/rollout/remote-agents.ts";

/** AgentCore answers within 15 minutes, as Lambda does. */
const SILENCE_MS = 910_000;
const SOCKETS = 1000;

const createAgents: CreateAgents = async ({ environment, clock }) => {
  const { arn, qualifier } = agentOf(environment, "agentcore");
  const client = new BedrockAgentCoreClient({
    // A second try would run the agent twice.
    maxAttempts: 1,
    requestHandler: {
      connectionTimeout: 10_000,
      requestTimeout: SILENCE_MS,
      socketTimeout: SILENCE_MS,
      httpsAgent: { keepAlive: true, maxSockets: SOCKETS },
      httpAgent: { keepAlive: true, maxSockets: SOCKETS },
    },
  });
  return remoteAgents(agentCoreAgent({ client, runtimeArn: arn, qualifier }), clock);
};
export default createAgents;
