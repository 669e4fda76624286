/** A TCP proxy before a local server, which a test can take away and bring back. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { onTestFinished } from "vitest";

export interface Link {
  readonly url: string;
  /** Breaks every connection, and each new one at once. */
  takeAway(): void;
  bringBack(): void;
}

/** Goes with the test. */
export async function linkTo(target: string): Promise<Link> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  let isAway = false;
  const server = createServer((near) => {
    if (isAway) return void near.destroy();
    const far = connect(Number(port), hostname);
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(socket);
      socket.on("error", () => other.destroy());
      socket.on("close", () => {
        sockets.delete(socket);
        other.destroy();
      });
      socket.pipe(other);
    }
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const breakAll = () => {
    for (const socket of sockets) socket.destroy();
  };
  onTestFinished(() => {
    server.close();
    breakAll();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    takeAway: () => {
      isAway = true;
      breakAll();
    },
    bringBack: () => {
      isAway = false;
    },
  };
}
