/**
 * AgentCore Runtime's API on this machine, in front of a service that speaks its contract. As there, a session has a
 * connection of its own until it is stopped, and an error of the service's is told without its words.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { Agent, request } from "undici";
import { SESSION_HEADER } from "../../functions/contract/agent-invocation.ts";
import { listen } from "../listen.ts";

export interface RuntimeApi {
  readonly endpoint: string;
  /** Sessions that were invoked and not stopped: AWS would bill them. */
  open(): string[];
  close(): Promise<void>;
}

interface Door {
  readonly service: string;
  readonly dispatcher: Agent;
  /** What is under way in each session. */
  readonly sessions: Map<string, AbortController>;
}

const PATH = /^\/runtimes\/[^/]+\/(invocations|stopruntimesession)$/;
const header = SESSION_HEADER.toLowerCase();
/** The service's own limits of a session's id. */
const SHORTEST_ID = 33;
const LONGEST_ID = 256;

/** @param service the address of the service, which answers `POST /invocations` */
export async function startRuntimeApi(service: string): Promise<RuntimeApi> {
  const dispatcher = new Agent({ headersTimeout: 0, bodyTimeout: 0 });
  const door: Door = { service: service.replace(/\/+$/, ""), dispatcher, sessions: new Map() };
  const server = createServer((incoming, response) => {
    answer(incoming, response, door).catch(() => response.destroy());
  });
  // An agent is silent until it is done.
  Object.assign(server, { requestTimeout: 0, timeout: 0 });
  // It keeps nothing alive by itself.
  server.unref();
  const port = await listen(server);
  return {
    endpoint: `http://127.0.0.1:${port}`,
    open: () => [...door.sessions.keys()],
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await dispatcher.destroy();
    },
  };
}

async function answer(incoming: IncomingMessage, response: ServerResponse, door: Door): Promise<void> {
  const [, operation] = PATH.exec(new URL(incoming.url ?? "", "http://local").pathname) ?? [];
  if (incoming.method !== "POST" || operation === undefined)
    return fail(response, 404, "ResourceNotFoundException", `no operation at ${incoming.url}`);
  const session = String(incoming.headers[header] ?? "");
  if (session.length < SHORTEST_ID || session.length > LONGEST_ID)
    return fail(
      response,
      400,
      "ValidationException",
      `expected a session id of ${SHORTEST_ID} to ${LONGEST_ID} characters, found ${session.length}`,
    );
  const body = await text(incoming);
  return operation === "invocations"
    ? await invoke(session, body, response, door)
    : stop(session, response, door);
}

async function invoke(session: string, body: string, response: ServerResponse, door: Door): Promise<void> {
  const over = new AbortController();
  door.sessions.set(session, over);
  // A caller that leaves ends its request, not its session.
  response.on("close", () => response.writableFinished || over.abort());
  try {
    const reply = await request(`${door.service}/invocations`, {
      method: "POST",
      dispatcher: door.dispatcher,
      signal: over.signal,
      headers: { "content-type": "application/json", accept: "application/json", [header]: session },
      body,
    });
    const said = await reply.body.text();
    if (reply.statusCode >= 300) return fail(response, 424, "RuntimeClientError", received(reply.statusCode));
    response
      .writeHead(reply.statusCode, {
        "content-type": String(reply.headers["content-type"] ?? "application/json"),
        [header]: session,
      })
      .end(said);
  } catch (error) {
    // Nothing listens, or what did is gone: the microVM is not healthy.
    if (!response.destroyed) fail(response, 424, "RuntimeClientError", `${received(502)} ${String(error)}`);
  }
}

function received(status: number): string {
  return `Received error (${status}) from runtime. Please check your CloudWatch logs for more information.`;
}

function stop(session: string, response: ServerResponse, { sessions }: Door): void {
  const running = sessions.get(session);
  sessions.delete(session);
  running?.abort();
  if (running) response.writeHead(200, { "content-type": "application/json", [header]: session }).end("{}");
  else fail(response, 404, "ResourceNotFoundException", `no session ${session}`);
}

function fail(response: ServerResponse, status: number, type: string, message: string): void {
  response
    .writeHead(status, { "content-type": "application/json", "x-amzn-errortype": type })
    .end(JSON.stringify({ message }));
}
