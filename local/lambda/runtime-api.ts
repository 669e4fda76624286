import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { listen } from "../listen.ts";

/** What the process behind a runtime API does. */
export interface RuntimeEvents {
  /** It asks for its next event: its start, or its last invocation, is over. */
  next(): void;
  /** The handler returned: JSON. */
  response(requestId: string, body: string): void;
  /** The handler threw: JSON with `errorType`, `errorMessage`, `trace`. */
  error(requestId: string, body: string): void;
  /** The handler could not be loaded: JSON as above. */
  initError(body: string): void;
}

/** An event on its way to a process. */
export interface Delivery {
  readonly requestId: string;
  /** JSON. */
  readonly event: string;
  /** Unix ms at which the invocation will be killed. */
  readonly deadline: number;
  readonly functionArn: string;
}

/**
 * The Lambda runtime API of one process (https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html), on a
 * loopback port of its own: AWS's runtime client can be given a host and port, but no path.
 */
export class RuntimeApi {
  readonly #server: Server;
  #events: RuntimeEvents | undefined;
  #waiting: ServerResponse | undefined;

  private constructor() {
    this.#server = createServer((request, response) => {
      // A process that is killed in the middle of a request is reported by its exit.
      this.#route(request, response).catch(() => response.destroy());
    });
    // A handler may run for minutes between two calls on one connection.
    this.#server.keepAliveTimeout = 0;
  }

  static async listen(): Promise<RuntimeApi> {
    const api = new RuntimeApi();
    await listen(api.#server);
    return api;
  }

  /** Says whom to tell what the process does: before it is spawned. */
  attach(events: RuntimeEvents): void {
    this.#events = events;
  }

  /** `host:port`, for `AWS_LAMBDA_RUNTIME_API`. */
  get address(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Answers the process's pending request for its next event. */
  deliver(delivery: Delivery): void {
    const response = this.#waiting;
    if (!response) throw new Error("Expected a process that waits for an event, found a busy one.");
    this.#waiting = undefined;
    response.writeHead(200, {
      "content-type": "application/json",
      "lambda-runtime-aws-request-id": delivery.requestId,
      "lambda-runtime-deadline-ms": delivery.deadline,
      "lambda-runtime-invoked-function-arn": delivery.functionArn,
    });
    response.end(delivery.event);
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #route(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request);
    const path = (request.url ?? "").replace("/2018-06-01/runtime/", "");
    if (path === "invocation/next") {
      this.#waiting = response;
      this.#events?.next();
      return;
    }
    const taken = this.#report(path, body);
    response.writeHead(taken ? 202 : 404, { "content-type": "application/json" }).end("{}");
  }

  #report(path: string, body: string): boolean {
    if (path === "init/error") {
      this.#events?.initError(body);
      return true;
    }
    const [, requestId, outcome] = /^invocation\/([^/]+)\/(response|error)$/.exec(path) ?? [];
    if (requestId === undefined) return false;
    if (outcome === "response") this.#events?.response(requestId, body);
    else this.#events?.error(requestId, body);
    return true;
  }
}
