/** A proxy in front of the engine that wants to see a token: in each request to it, whoever sends the request. */
import { Dispatcher } from "undici";
import { failUnsent } from "./dispatcher.ts";

/** The token of a proxy, as headers. */
export interface EngineCredentials {
  /** Throws where the token cannot be read. */
  headers(): Promise<Readonly<Record<string, string>>>;
  /** Rises when another token takes the place of the one before. */
  readonly version: number;
  /** Reads the token again, since the proxy refused it. */
  renew(): Promise<void>;
}

/** Dispatches over another dispatcher, and adds the credentials to what goes to the origin of `url`, nothing else. */
export class GuardedDispatcher extends Dispatcher {
  readonly #inner: Dispatcher;
  readonly #origin: string;
  readonly #credentials: EngineCredentials;

  constructor(inner: Dispatcher, url: string, credentials: EngineCredentials) {
    super();
    this.#inner = inner;
    this.#origin = new URL(url).origin;
    this.#credentials = credentials;
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    if (String(options.origin).replace(/\/$/, "") !== this.#origin)
      return this.#inner.dispatch(options, handler);
    // Nobody waits for this: whatever fails is the handler's to know, or the request would hang for ever.
    void this.#dispatch(options, handler).catch(() => undefined);
    return true;
  }

  async #dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): Promise<void> {
    try {
      const headers = withHeaders(options.headers, await this.#credentials.headers());
      this.#inner.dispatch({ ...options, headers }, this.#observe(handler));
    } catch (error) {
      failUnsent(handler, error);
    }
  }

  /** To be remembered before a request, in case that it is refused. */
  get version(): number {
    return this.#credentials.version;
  }

  /** True where a request that was refused is worth another try: there is another token since that version. */
  async renew(since: number): Promise<boolean> {
    await this.#credentials.renew();
    return this.version > since;
  }

  override close(): Promise<void> {
    return this.#inner.close();
  }

  override destroy(): Promise<void> {
    return this.#inner.destroy();
  }

  /** An agent's own library does not try again by itself, so at least its next request has the new token. */
  #observe(handler: Dispatcher.DispatchHandler): Dispatcher.DispatchHandler {
    return {
      onRequestStart: (controller, context) => handler.onRequestStart?.(controller, context),
      onRequestUpgrade: (controller, status, headers, socket) =>
        handler.onRequestUpgrade?.(controller, status, headers, socket),
      onResponseStart: (controller, status, headers, message) => {
        if (isUnauthorised(status)) this.#credentials.renew().catch(() => {});
        handler.onResponseStart?.(controller, status, headers, message);
      },
      onResponseData: (controller, chunk) => handler.onResponseData?.(controller, chunk),
      onResponseEnd: (controller, trailers) => handler.onResponseEnd?.(controller, trailers),
      onResponseError: (controller, error) => handler.onResponseError?.(controller, error),
      onResponseStarted: () => handler.onResponseStarted?.(),
      onBodySent: (chunk) => handler.onBodySent?.(chunk),
      onRequestSent: () => handler.onRequestSent?.(),
    };
  }
}

export function isUnauthorised(status: number): boolean {
  return status === 401 || status === 403;
}

type Headers = Dispatcher.DispatchOptions["headers"];

/** What the request itself says wins. */
function withHeaders(
  own: Headers,
  extra: Readonly<Record<string, string>>,
): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = { ...extra };
  for (const [name, value] of headerPairs(own)) headers[name.toLowerCase()] = value;
  return headers;
}

/** undici takes an object, pairs, or a flat list of names and values. */
function headerPairs(headers: Headers): [string, string | string[]][] {
  if (headers == null) return [];
  if (Array.isArray(headers) && headers.every((item) => typeof item === "string")) {
    const flat: string[] = headers;
    return flat.flatMap((name, index) => (index % 2 === 0 ? [[name, flat[index + 1] ?? ""]] : []));
  }
  const pairs = Symbol.iterator in headers ? [...headers] : Object.entries(headers);
  return (pairs as [string, string | string[] | undefined][]).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value]],
  );
}
