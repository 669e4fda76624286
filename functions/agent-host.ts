/** What a thread or process for agents does: it loads the fleet's agent, and runs it when the function says so. */
import * as z from "zod";
import { AgentHost, hostPort, RemoteToken } from "./adapters/agents/index.ts";
import { createChat, GuardedDispatcher, installFetch, sharedDispatcher } from "./adapters/engine/index.ts";
import type { Agent } from "./contract/agent.ts";
import { traceError } from "./core/error-trace.ts";
import { shown } from "./core/rollout/shown.ts";
import { systemClock as clock } from "./system-clock.ts";

const hostedSchema = z.object({ engineUrl: z.string(), guarded: z.boolean() });
export type Hosted = z.infer<typeof hostedSchema>;

/** This is a part of it. */
const bundle = import.meta.url;

export async function hostAgents(given: unknown): Promise<void> {
  const { engineUrl, guarded } = hostedSchema.parse(given);
  const port = hostPort();
  const host = new AgentHost(port, bundle);
  const plain = sharedDispatcher();
  const dispatcher = guarded ? new GuardedDispatcher(plain, engineUrl, new RemoteToken(port)) : plain;
  // Before the agent is loaded: some libraries keep the fetch that they find. Node's own cuts a model call that is silent
  // for minutes, and knows nothing of a proxy before the engine.
  installFetch(dispatcher);
  try {
    const { default: agent } = await import("#agent");
    host.serve(checked(agent), (grant) => createChat({ ...grant, dispatcher, clock }));
  } catch (error) {
    port.post({ kind: "unloadable", fault: traceError(error, { bundle }) });
    throw error;
  }
}

/** The types say so, but nobody need have looked at them. */
function checked(agent: unknown): Agent {
  if (typeof agent === "function") return agent as Agent;
  throw new TypeError(
    `expected a function as the default export of the agent's file, found ${shown(agent)}: export default agent`,
  );
}
