/** A request and its whole answer. */

export interface HttpRequest {
  readonly method: "GET" | "POST";
  /** Absolute. */
  readonly url: string;
  /** Bytes are sent as they are, as a zip; anything else as JSON. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

export interface HttpReply {
  readonly status: number;
  /** Without parameters, lower case; empty where the answer does not say. */
  readonly contentType: string;
  /** Where a redirect leads, else empty. */
  readonly location: string;
  /** As the headers `retry-after` and `date` say it, else empty. */
  readonly retryAfter: string;
  readonly date: string;
  readonly text: string;
}
