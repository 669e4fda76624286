/** A loopback HTTP server for tests that answers, and misbehaves, as told. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";

export interface Received {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  /** The body as JSON; undefined where there was none. */
  readonly json: unknown;
  readonly socket: Socket;
  /** Which connection this came over: 1 for the first that the server saw. */
  readonly connection: number;
}
export type Respond = (request: Received, response: ServerResponse) => void;
export interface TestServer extends AsyncDisposable {
  readonly url: string;
  /** Every request so far, in order. */
  readonly received: Received[];
}

export async function serve(respond: Respond): Promise<TestServer> {
  const received: Received[] = [];
  const connections = new Map<Socket, number>();
  const server = createServer(async (incoming, response) => {
    const request: Received = {
      method: incoming.method ?? "",
      path: incoming.url ?? "",
      headers: incoming.headers,
      json: await readJson(incoming),
      socket: incoming.socket,
      connection: connections.get(incoming.socket) ?? 0,
    };
    received.push(request);
    respond(request, response);
  });
  server.on("connection", (socket) => connections.set(socket, connections.size + 1));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function readJson(incoming: IncomingMessage): Promise<unknown> {
  let text = "";
  for await (const chunk of incoming) text += String(chunk);
  return text === "" ? undefined : JSON.parse(text);
}

export function sendJson(response: ServerResponse, status: number, json: unknown): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(json));
}

export function sendText(response: ServerResponse, status: number, text: string, type = "text/plain"): void {
  response.writeHead(status, { "content-type": type }).end(text);
}
