/** Agents that are Lambda functions of the user's. */
import { LambdaClient } from "@aws-sdk/client-lambda";
import { lambdaAgent } from "../adapters/agent-lambda/client.ts";
import { agentOf, type CreateAgents } from "../agent-way.ts";
import { remoteAgents } from "../core/rollout/remote-agents.ts";
import { agentClientOptions } from "./client-options.ts";

const createAgents: CreateAgents = async ({ environment, clock }) => {
  const { functionName } = agentOf(environment, "lambda");
  const client = new LambdaClient(agentClientOptions);
  return remoteAgents(lambdaAgent({ client, functionName }), clock);
};
export default createAgents;
