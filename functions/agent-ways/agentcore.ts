/** Agents in a runtime of Amazon Bedrock AgentCore. */
import { BedrockAgentCoreClient } from "@aws-sdk/client-bedrock-agentcore";
import { agentCoreAgent } from "../adapters/agent-agentcore/client.ts";
import { agentOf, type CreateAgents } from "../agent-way.ts";
import { remoteAgents } from "../core/rollout/remote-agents.ts";
import { agentClientOptions } from "./client-options.ts";

const createAgents: CreateAgents = async ({ environment, clock }) => {
  const { arn, qualifier } = agentOf(environment, "agentcore");
  const client = new BedrockAgentCoreClient(agentClientOptions);
  return remoteAgents(agentCoreAgent({ client, runtimeArn: arn, qualifier }), clock);
};
export default createAgents;
