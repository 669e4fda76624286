/** What a thread or process for agents does: it loads the fleet's agent, and runs it when the function says so. */
import * as z from "zod";
import { AgentHost, hostPort, RemoteToken } from "./adapters/agents/index.ts";
import { createChat, GuardedDispatcher, installFetch, sharedDispatcher } from "./adapters/engine/index.ts";
import { describeError } from "./core/errors.ts";
import { systemClock as clock } from "./system-clock.ts";

const hostedSchema = z.object({ engineUrl: z.string(), guarded: z.boolean() });
export type Hosted = z.infer<typeof hostedSchema>;

export async function hostAgents(given: unknown): Promise<void> {
  const { engineUrl, guarded } = hostedSchema.parse(given);
  const port = hostPort();
  const host = new AgentHost(port);
  const plain = sharedDispatcher();
  const dispatcher = guarded ? new GuardedDispatcher(plain, engineUrl, new RemoteToken(port)) : plain;
  // Before the agent is loaded: some libraries keep the fetch that they find. Node's own cuts a model call that is silent
  // for minutes, and knows nothing of a proxy before the engine.
  installFetch(dispatcher);
  try {
    const { default: agent } = await import("#agent");
    host.serve(agent, (grant) => createChat({ ...grant, dispatcher, clock }));
  } catch (error) {
    port.post({ kind: "unloadable", fault: describeError(error) });
    throw error;
  }
}
