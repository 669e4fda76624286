/** The connections to the engine and to the model: one pool per process, and nothing in it goes stale unnoticed. */
import { Agent, Dispatcher } from "undici";
import { type NotedCall, noteRequest } from "./model-calls.ts";

/** Milliseconds that an idle socket is kept: uvicorn closes idle ones after 5 s, and a POST on a closed one breaks. */
export const KEEP_ALIVE_MS = 3000;

/**
 * No time limit on headers or bodies here: a model call can be silent for many minutes, where undici's default of
 * 300 s would cut it. The engine's calls and the caller's signal bring their own limits.
 */
export const connectionOptions = {
  // The newer reference says why: HTTP/2 behind a proxy stalls without an error.
  allowH2: false,
  pipelining: 1,
  keepAliveTimeout: KEEP_ALIVE_MS,
  keepAliveMaxTimeout: KEEP_ALIVE_MS,
  headersTimeout: 0,
  bodyTimeout: 0,
  // TCP probes keep a silent model call alive through NAT gateways, which forget idle flows (AWS: 350 s).
  connect: { timeout: 10_000, keepAlive: true, keepAliveInitialDelay: 30_000 },
} as const satisfies Agent.Options;

const unsent = new WeakSet<Error>();

/** True where the request of this error never reached a connection: the other side cannot have acted on it. */
export function neverSent(error: unknown): boolean {
  return error instanceof Error && unsent.has(error);
}

/**
 * Dispatches over an undici agent and replaces it whenever its idle sockets can no longer be trusted:
 * after any 5xx (the engine then drops the connection without saying so), and after a pause longer than idle sockets
 * may live (a frozen Lambda function wakes up before its timers have closed them). Running requests finish on the
 * agent that they began on.
 */
export class FreshDispatcher extends Dispatcher {
  #agent = new Agent(connectionOptions);
  #lastUse = 0;
  readonly #now: () => number;

  constructor(now: () => number = Date.now) {
    super();
    this.#now = now;
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    const now = this.#now();
    let noted: NotedCall | undefined;
    try {
      noted = noteRequest(options.path, options.headers, now, options.method);
    } catch (error) {
      failUnsent(handler, error);
      return true;
    }
    if (now - this.#lastUse > KEEP_ALIVE_MS) this.#renew();
    this.#lastUse = now;
    const agent = this.#agent;
    const distrust = () => {
      // Only the agent that answered: by now another answer may have replaced it.
      if (this.#agent === agent) this.#renew();
    };
    return agent.dispatch(options, observe(handler, distrust, noted));
  }

  override close(): Promise<void> {
    return this.#agent.close();
  }

  override destroy(): Promise<void> {
    return this.#agent.destroy();
  }

  #renew(): void {
    const old = this.#agent;
    this.#agent = new Agent(connectionOptions);
    // Closes idle sockets at once and the others when their request is over.
    old.close().catch(() => {});
  }
}

/** Passes everything on; notes a 5xx while its socket is still busy, so before anybody can reuse it. */
function observe(
  handler: Dispatcher.DispatchHandler,
  onServerError: () => void,
  noted: NotedCall | undefined,
): Dispatcher.DispatchHandler {
  let started = false;
  return {
    onRequestStart(controller, context) {
      started = true;
      handler.onRequestStart?.(controller, context);
    },
    onRequestUpgrade(controller, status, headers, socket) {
      handler.onRequestUpgrade?.(controller, status, headers, socket);
    },
    onResponseStart(controller, status, headers, message) {
      if (status >= 500) onServerError();
      const contentType = mediaType(headers["content-type"]);
      noted?.answered(status, contentType);
      noted?.recording?.answered(status, contentType, String(headers["content-encoding"] ?? ""));
      handler.onResponseStart?.(controller, status, headers, message);
    },
    onResponseData(controller, chunk) {
      noted?.recording?.received(chunk);
      handler.onResponseData?.(controller, chunk);
    },
    onResponseEnd(controller, trailers) {
      noted?.recording?.ended();
      handler.onResponseEnd?.(controller, trailers);
    },
    onResponseError(controller, error) {
      if (!started) markUnsent(error);
      noted?.failed(error);
      noted?.recording?.ended(error);
      handler.onResponseError?.(controller, error);
    },
    onResponseStarted: () => handler.onResponseStarted?.(),
    onBodySent(chunk) {
      noted?.recording?.sent(chunk);
      handler.onBodySent?.(chunk);
    },
    onRequestSent: () => handler.onRequestSent?.(),
  };
}

/**
 * Tells the handler of a request that it has failed before anything was sent: whoever has returned true from `dispatch`,
 * or may be called by somebody who has, must not throw.
 */
export function failUnsent(handler: Dispatcher.DispatchHandler, error: unknown): void {
  const failure = error instanceof Error ? error : new Error(String(error));
  // There is no request to control yet; undici's own interceptors say null here as well.
  handler.onResponseError?.(null as never, markUnsent(failure));
}

/** Without parameters, lower case; empty where there is none. */
export function mediaType(header: string | string[] | undefined): string {
  return (String(header ?? "").split(";")[0] ?? "").trim().toLowerCase();
}

/** Notes that the request which failed with this error never reached a connection. */
export function markUnsent<E>(error: E): E {
  if (error instanceof Error) unsent.add(error);
  return error;
}

let shared: FreshDispatcher | undefined;

/** The one of this process. */
export function sharedDispatcher(): FreshDispatcher {
  shared ??= new FreshDispatcher();
  return shared;
}
