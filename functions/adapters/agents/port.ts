/** The host's end of the way to the function: a thread's port, or a process's channel. */
import { isMainThread, parentPort } from "node:worker_threads";
import { HOST_ARGUMENT } from "../../contract/agent-host.ts";
import type { HostPort } from "./host.ts";
import type { ToHost } from "./messages.ts";

/** What this thread or process was given as a host of agents; undefined where it is none. */
export function hostedHere(argv: readonly string[] = process.argv): unknown {
  const at = argv.lastIndexOf(HOST_ARGUMENT);
  return at < 0 ? undefined : JSON.parse(argv[at + 1] ?? "{}");
}

export function hostPort(): HostPort {
  if (!isMainThread && parentPort) {
    const port = parentPort;
    return {
      post: (message) => port.postMessage(message),
      onMessage: (listener) => port.on("message", listener),
    };
  }
  const exit = process.exit.bind(process);
  // The function is gone.
  process.on("disconnect", () => exit(0));
  return {
    post: (message) => void (process.connected && process.send?.(message, undefined, {}, () => undefined)),
    onMessage: (listener) => process.on("message", (message) => listener(message as ToHost)),
  };
}
