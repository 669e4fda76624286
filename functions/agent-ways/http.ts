/** Agents behind an address of the user's. */
import type { Dispatcher } from "undici";
import { httpAgent } from "../adapters/agent-http/client.ts";
import { GuardedDispatcher, neverSent, sharedDispatcher } from "../adapters/engine/index.ts";
import { agentOf, type CreateAgents } from "../agent-way.ts";
import { remoteAgents } from "../core/rollout/remote-agents.ts";
import { agentCredentials } from "../engine-credentials.ts";

const createAgents: CreateAgents = async ({ environment, clock }) => {
  const { urls, secretArn, header } = agentOf(environment, "http");
  const plain: Dispatcher = sharedDispatcher();
  const token =
    secretArn !== undefined && header !== undefined ? agentCredentials(secretArn, header, clock) : undefined;
  const dispatcher = token
    ? urls.reduce((inner, url) => new GuardedDispatcher(inner, url, token), plain)
    : plain;
  return remoteAgents(httpAgent({ urls, dispatcher, neverSent }), clock);
};
export default createAgents;
