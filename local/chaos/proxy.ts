/** An HTTP proxy on a loopback port, between the functions and one server: it sees every request and may spoil it. */
import {
  Agent,
  createServer,
  type IncomingMessage,
  request,
  type Server,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";

export interface ProxyRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly text: string;
  /** The body as JSON; undefined where it is none. */
  readonly json: unknown;
}
export interface Reply {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly body: Buffer;
}
export interface Answer {
  readonly status: number;
  readonly text: string;
  readonly contentType: string;
  readonly headers?: Readonly<Record<string, string>>;
}
/** What becomes of a request before it reaches the server. */
export type Before = "pass" | "close" | { readonly hangMs: number } | { readonly answer: Answer };

export interface Interceptor {
  before?(request: ProxyRequest): Before;
  /** What becomes of an answer before it reaches the client. */
  after?(request: ProxyRequest, reply: Reply): "pass" | "close";
  /** The body that the server gets in place of the request's own. */
  rewriteRequest?(request: ProxyRequest): string | undefined;
  /** The body that the client gets in place of the server's. */
  rewriteReply?(request: ProxyRequest, reply: Reply): string | undefined;
}

/** uvicorn's: a kept-alive connection that is idle for longer is closed. */
const IDLE_MS = 5000;

export class FaultProxy {
  readonly #upstream: Promise<string>;
  readonly #interceptors: readonly Interceptor[];
  readonly #agent = new Agent({ keepAlive: true, timeout: 4000 });
  #server: Server | undefined;
  #port: number;

  /** `upstream` is the server's address, also one that is not known yet. */
  constructor(upstream: string | Promise<string>, interceptors: readonly Interceptor[], port = 0) {
    this.#port = port;
    this.#upstream = Promise.resolve(upstream);
    this.#interceptors = interceptors;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** Listens, on the same port after each `down`. */
  async up(): Promise<void> {
    if (this.#server) return;
    const server = createServer((incoming, response) => {
      // A process that is killed in the middle of a request is what this is for.
      this.#serve(incoming, response).catch(() => response.destroy());
    });
    server.keepAliveTimeout = IDLE_MS;
    this.#server = server;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    server.once("error", reject);
    server.listen(this.#port, "127.0.0.1", resolve);
    await promise;
    this.#port = (server.address() as AddressInfo).port;
  }

  /** Refuses connections and breaks the open ones. */
  async down(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (!server) return;
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
  }

  async close(): Promise<void> {
    await this.down();
    this.#agent.destroy();
  }

  async #serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on("error", () => undefined);
    const asked = await read(incoming);
    for (const interceptor of this.#interceptors) {
      const verdict = interceptor.before?.(asked) ?? "pass";
      if (verdict !== "pass") return await spoil(verdict, response);
    }
    const text = firstOf(this.#interceptors, (one) => one.rewriteRequest?.(asked)) ?? asked.text;
    const reply = await this.#forward(asked, text);
    for (const interceptor of this.#interceptors)
      if (interceptor.after?.(asked, reply) === "close") return void response.destroy();
    const rewritten = firstOf(this.#interceptors, (one) => one.rewriteReply?.(asked, reply));
    send(response, reply, rewritten === undefined ? reply.body : Buffer.from(rewritten));
  }

  async #forward(asked: ProxyRequest, text: string): Promise<Reply> {
    const body = Buffer.from(text);
    const { "transfer-encoding": _, connection: __, ...headers } = asked.headers;
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    request(new URL(asked.path, await this.#upstream), {
      method: asked.method,
      agent: this.#agent,
      headers: { ...headers, "content-length": body.length },
    })
      .on("response", resolve)
      .on("error", reject)
      .end(body);
    const reply = await promise;
    return { status: reply.statusCode ?? 502, headers: reply.headers, body: await bytes(reply) };
  }
}

function firstOf<T, R>(items: readonly T[], of: (item: T) => R | undefined): R | undefined {
  for (const item of items) {
    const found = of(item);
    if (found !== undefined) return found;
  }
  return undefined;
}

async function spoil(verdict: Exclude<Before, "pass">, response: ServerResponse): Promise<void> {
  if (verdict === "close") return void response.destroy();
  if ("hangMs" in verdict) {
    await delay(verdict.hangMs, undefined, { ref: false });
    return void response.destroy();
  }
  const { status, text, contentType, headers } = verdict.answer;
  send(
    response,
    { status, headers: { "content-type": contentType, ...headers }, body: Buffer.alloc(0) },
    Buffer.from(text),
  );
}

function send(response: ServerResponse, { status, headers }: Reply, body: Buffer): void {
  const {
    "content-length": _,
    "transfer-encoding": __,
    connection: ___,
    "x-amz-crc32": ____,
    ...rest
  } = headers;
  // Removed, or Node would tell the client how long it keeps the connection.
  response.removeHeader("connection");
  response.writeHead(status, { ...rest, "content-length": body.length });
  const { socket } = response;
  response.end(body, () => {
    // The engine drops the connection after any 500 without saying so.
    if (status >= 500) socket?.destroySoon();
  });
}

async function read(incoming: IncomingMessage): Promise<ProxyRequest> {
  const text = (await bytes(incoming)).toString("utf8");
  const { method = "", url = "", headers } = incoming;
  return { method, path: url, headers, text, json: parsed(text) };
}

async function bytes(stream: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

function parsed(text: string): unknown {
  try {
    return text === "" ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}
