/** The engine on a socket, with uvicorn's manners: no hint of when it will close a connection, and none after a 500. */
import type { ServerResponse } from "node:http";
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import { type Answer, internalError, Refusal } from "./answers.ts";
import type { EngineState } from "./engine.ts";
import type { Fault, Faults } from "./faults.ts";
import { handlerOf } from "./routes.ts";
import { never, slept } from "./timing.ts";

const BODY_LIMIT = 64 * 1024 * 1024;

/** Requests so far. `arrived - answered` are being worked on. */
export interface Traffic {
  arrived: number;
  answered: number;
}

export interface ServerParts {
  readonly engine: EngineState;
  readonly traffic: Traffic;
  readonly faults: Faults;
}

export function createServer(parts: ServerParts): FastifyInstance {
  const app = Fastify({
    bodyLimit: BODY_LIMIT,
    keepAliveTimeout: parts.engine.config.idleConnectionSeconds * 1000,
    forceCloseConnections: true,
    exposeHeadRoutes: false,
  });
  app.server.keepAliveTimeoutBuffer = 0;
  app.server.requestTimeout = 0;
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", { parseAs: "buffer" }, (_request, body, done) => done(null, body));
  app.all("/*", (request, reply) => serve(parts, request, reply));
  return app;
}

async function serve(parts: ServerParts, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const { engine, traffic } = parts;
  reply.hijack();
  const response = reply.raw;
  // A client that has gone away is none of the engine's business: uvicorn works on.
  response.on("error", () => undefined);
  const bytes = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
  const body = bytes.toString("utf8");
  const path = request.url.split("?")[0] ?? "";
  traffic.arrived += 1;
  const call = { method: request.method, path, body: parsed(body), at: engine.clock.now() };
  const fault = parts.faults(call);
  const answer = await answerWith(parts, fault, () => answerOf(engine, request, path, bytes));
  if (answer === "close") {
    traffic.answered += 1;
    response.destroy();
    return;
  }
  if ("events" in answer) await stream(response, answer.events);
  else write(response, answer);
  traffic.answered += 1;
}

async function answerWith(
  { engine }: ServerParts,
  fault: Fault | undefined,
  act: () => Promise<Answer>,
): Promise<Answer | "close"> {
  switch (fault?.kind) {
    case undefined:
      return act();
    case "answer":
      return { status: fault.status, text: fault.text, contentType: fault.contentType ?? "text/html" };
    case "close":
      return "close";
    case "hang":
      return never();
    case "act-then-close":
      await act();
      return "close";
    case "delay": {
      const answer = await act();
      await slept(engine.clock, fault.seconds, engine.closed);
      return answer;
    }
  }
}

async function answerOf(
  engine: EngineState,
  request: FastifyRequest,
  path: string,
  bytes: Buffer,
): Promise<Answer> {
  const { "content-type": contentType, authorization } = request.headers;
  const apiKey = request.headers["x-api-key"]?.toString();
  const body = bytes.toString("utf8");
  try {
    return await handlerOf(
      engine,
      request.method,
      path,
    )(engine, {
      body,
      bytes,
      contentType,
      authorization,
      apiKey,
    });
  } catch (error) {
    if (error instanceof Refusal) return { status: error.status, json: { detail: error.detail } };
    engine.ledger.add({ kind: "internal-error", path, error: String(error) });
    return internalError;
  }
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

function write(response: ServerResponse, answer: Exclude<Answer, { events: unknown }>): void {
  const [text, contentType] =
    "text" in answer ? [answer.text, answer.contentType] : [JSON.stringify(answer.json), "application/json"];
  // Removed, or Node would tell the client how long it keeps the connection.
  response.removeHeader("connection");
  response.writeHead(answer.status, {
    "content-type": contentType,
    "content-length": Buffer.byteLength(text),
  });
  const { socket } = response;
  response.end(text, () => {
    if (answer.status >= 500) socket?.destroySoon();
  });
}

async function stream(response: ServerResponse, events: AsyncIterable<string>): Promise<void> {
  response.removeHeader("connection");
  response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" });
  try {
    for await (const event of events) response.write(event);
    response.end();
  } catch {
    // What is written must arrive before the connection breaks.
    response.socket?.destroySoon();
  }
}
