import { once } from "node:events";
import { createServer } from "node:net";

export interface Listener {
  readonly port: number;
  /** Connections that are open now: each ends with the process that made it. */
  connections(): number;
  close(): void;
}

/** A server that processes connect to, so that a test sees them live and die. */
export async function listen(): Promise<Listener> {
  let open = 0;
  const server = createServer((socket) => {
    open += 1;
    socket
      .on("error", () => {})
      .on("close", () => {
        open -= 1;
      })
      .resume();
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return { port, connections: () => open, close: () => server.close() };
}
