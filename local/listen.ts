import type { Server } from "node:net";

/** Has the server listen on loopback, at a port that is free; resolves to the port. Rejects where it cannot. */
export async function listen(server: Server): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject);
  server.listen(0, "127.0.0.1", resolve);
  await promise;
  server.off("error", reject);
  const address = server.address();
  if (typeof address !== "object" || address === null) throw new Error("expected a port, found none");
  return address.port;
}
