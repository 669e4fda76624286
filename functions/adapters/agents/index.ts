/** The adapter that runs agents in threads and processes of their own: what the rest of the project may use of it. */
export { AgentHost } from "./host.ts";
export { hostedHere, hostPort } from "./port.ts";
export { RemoteToken } from "./remote-token.ts";
export { AgentHosts, type RunnerOptions } from "./runner.ts";
