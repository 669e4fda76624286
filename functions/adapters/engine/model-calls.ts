/**
 * The model calls of an attempt, whichever library makes them: seen where all requests of the process leave it. They
 * are told apart by the episode's key; after the attempt's signal has fired none goes out any more.
 */
import type { RecordCall } from "../../core/transcript/recorded-call.ts";
import { CallRecording } from "./call-recording.ts";
import { outageIn } from "./outage.ts";

export interface ModelCalls {
  calls(): number;
  /** Unix ms at which the last call began; undefined before the first. */
  lastCallAt(): number | undefined;
  /**
   * What kept the last call that came to an end from the model, by its answer's head: a proxy's refusal, a broken
   * connection. Undefined where the model or the engine answered.
   */
  outage(): string | undefined;
}

interface Counted {
  readonly signal: AbortSignal;
  readonly record: RecordCall | undefined;
  calls: number;
  last: number | undefined;
  outage: string | undefined;
}

/** A call that went out, to be told what came of it. */
export interface NotedCall {
  answered(status: number, contentType: string): void;
  failed(error: Error): void;
  /** What goes over the wire; absent where nobody wants it. */
  readonly recording: CallRecording | undefined;
}

const byKey = new Map<string, Counted>();

/** Watches over the calls with this key until the signal fires; a bit longer, to stop calls that come late. */
export function watchModelCalls(apiKey: string, signal: AbortSignal, record?: RecordCall): ModelCalls {
  const counted: Counted = { signal, record, calls: 0, last: undefined, outage: undefined };
  // A newer attempt on a re-issued episode has the same key, and takes it over.
  byKey.set(apiKey, counted);
  forgetOldest();
  return {
    calls: () => counted.calls,
    lastCallAt: () => counted.last,
    outage: () => counted.outage,
  };
}

/** OpenAI's chat, legacy and Responses API, Anthropic's Messages; a POST to any of them makes the model work. */
const MODEL_ROUTE = /\/(completions|responses|messages|embeddings)\/?$/;

/**
 * To be told of each request before it is sent. Throws the signal's reason where the attempt is over: nothing goes out
 * with its key any more, on whatever route.
 */
export function noteRequest(
  path: string,
  headers: unknown,
  now: number,
  method = "POST",
): NotedCall | undefined {
  const counted = keysIn(headers)
    .map((key) => byKey.get(key))
    .find((found) => found !== undefined);
  if (!counted) return undefined;
  counted.signal.throwIfAborted();
  if (method !== "POST" || !MODEL_ROUTE.test(path.split("?")[0] ?? "")) return undefined;
  counted.calls += 1;
  counted.last = now;
  const { record, signal } = counted;
  return {
    recording: record && new CallRecording({ path, at: now, signal, record }),
    answered: (status, contentType) => {
      counted.outage = outageIn(status, contentType);
    },
    failed: (error) => {
      // A limit that the agent sets itself is its own doing.
      const ownDoing = error.name === "AbortError" || error.name === "TimeoutError";
      counted.outage = ownDoing ? undefined : `no answer (${error.name})`;
    },
  };
}

/** More than any process has attempts at once. */
const MOST_KEYS = 10_000;

function forgetOldest(): void {
  const [oldest] = byKey.keys();
  if (byKey.size > MOST_KEYS && oldest !== undefined) byKey.delete(oldest);
}

/** OpenAI's clients send the key as a bearer token, Anthropic's as `x-api-key`. */
function keysIn(headers: unknown): string[] {
  return headerPairs(headers).flatMap(([name, value]) => {
    if (typeof name !== "string" || typeof value !== "string") return [];
    if (/^authorization$/i.test(name)) return [value.replace(/^bearer\s+/i, "")];
    return /^x-api-key$/i.test(name) ? [value] : [];
  });
}

/** undici takes headers as an object, as a flat list, or as pairs. */
function headerPairs(headers: unknown): (readonly [unknown, unknown])[] {
  if (typeof headers !== "object" || headers === null) return [];
  if (Array.isArray(headers) && !headers.some(Array.isArray))
    return headers.flatMap((name, index) => (index % 2 === 0 ? [[name, headers[index + 1]] as const] : []));
  return Symbol.iterator in headers
    ? [...(headers as Iterable<readonly [unknown, unknown]>)]
    : Object.entries(headers);
}
