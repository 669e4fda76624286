/** A model call as it was seen: over the wire, in words, and as what it adds to the conversation before it. */

/** As it went over the wire, by text; bodies are parsed JSON. */
export interface WireCall {
  /** As `/v1/chat/completions`, without parameters. */
  readonly path: string;
  /** Unix ms at which it began. */
  readonly at: number;
  /** Until the last byte of its answer, ms. */
  readonly ms: number;
  /** Undefined where no answer began. */
  readonly status: number | undefined;
  /** Undefined where it was no JSON, or too long to be kept. */
  readonly request: unknown;
  /** The answer; a streamed one put together as the same call would answer without streaming. */
  readonly response: unknown;
  readonly streamed: boolean;
  /** Words of an answer that is no JSON, or of the transport. */
  readonly error: string | undefined;
  /** What was too long to be kept: `request`, `response`. */
  readonly cut: readonly string[];
}

export interface SaidCall {
  /** Undefined where the model gave it none. */
  readonly id: string | undefined;
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  /** Where the arguments are no JSON object. */
  readonly raw?: string;
}

export interface SaidMessage {
  readonly role: "system" | "user" | "assistant" | "tool";
  readonly text: string;
  readonly reasoning?: string;
  readonly calls?: readonly SaidCall[];
  /** The tool call that this is the result of. */
  readonly answers?: string;
}

export interface Usage {
  readonly prompt?: number;
  readonly completion?: number;
  readonly cached?: number;
}

export interface Reply {
  readonly message: SaidMessage;
  readonly model?: string;
  readonly finishReason?: string;
  readonly usage?: Usage;
  readonly others?: readonly string[];
  /** For an API that keeps the conversation at the server. */
  readonly responseId?: string;
}

export interface Asked {
  readonly messages: readonly SaidMessage[];
  readonly model?: string;
  readonly tools?: readonly Readonly<Record<string, unknown>>[];
  readonly settings?: Readonly<Record<string, number | string | boolean>>;
  /** The reply that this goes on from, where the server keeps the conversation. */
  readonly continues?: string;
}

/** How one API says it. */
export interface ModelApi {
  readonly name: string;
  readRequest(body: unknown): Asked;
  /** Undefined where there is no reply in it. */
  readReply(body: unknown): Reply | undefined;
  /** Puts a streamed answer together. */
  stream(): { add(event: unknown): void; body(): unknown };
}

/** What a call adds to the conversation that it goes on with. */
export interface FoldedCall {
  readonly number: number;
  readonly api: string;
  readonly at: number;
  readonly ms: number;
  readonly streamed: boolean;
  readonly status?: number;
  readonly error?: string;
  readonly model?: string;
  /** 0 for the first conversation of an attempt. */
  readonly branch: number;
  /** Of a call that begins a branch: what it shares, so many messages of another one. */
  readonly from?: { readonly branch: number; readonly messages: number };
  /** Those that it does not share with what went before. */
  readonly messages: readonly SaidMessage[];
  readonly reply?: Reply;
  /** Where they differ from those of the call before. */
  readonly tools?: readonly Readonly<Record<string, unknown>>[];
  readonly settings?: Readonly<Record<string, number | string | boolean>>;
  readonly cut?: readonly string[];
}
