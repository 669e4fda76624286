/** Agents that are Lambda functions of the user's. */
import { LambdaClient } from "@aws-sdk/client-lambda";
import { lambdaAgent } from "../adapters/agent-lambda/client.ts";
import { agentOf, type CreateAgents } from "../agent-way.ts";
import { remoteAgents } from "../core/rollout/remote-agents.ts";

/** Lambda's longest time, and a little more: the function's own end comes first. */
const SILENCE_MS = 910_000;
/** More than one invocation runs at once. */
const SOCKETS = 1000;

const createAgents: CreateAgents = async ({ environment, clock }) => {
  const { functionName } = agentOf(environment, "lambda");
  const client = new LambdaClient({
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
  return remoteAgents(lambdaAgent({ client, functionName }), clock);
};
export default createAgents;
