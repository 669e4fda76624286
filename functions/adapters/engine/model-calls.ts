/**
 * The model calls of an attempt, whichever library makes them: seen where all requests of the process leave it. They
 * are told apart by the episode's key; after the attempt's signal has fired none goes out any more.
 */

export interface ModelCalls {
  calls(): number;
  /** Unix ms at which the last call began; undefined before the first. */
  lastCallAt(): number | undefined;
}

interface Counted {
  readonly signal: AbortSignal;
  calls: number;
  last: number | undefined;
}

const byKey = new Map<string, Counted>();

/** Watches over the calls with this key until the signal fires; a bit longer, to stop calls that come late. */
export function watchModelCalls(apiKey: string, signal: AbortSignal): ModelCalls {
  const counted: Counted = { signal, calls: 0, last: undefined };
  // A newer attempt on a re-issued episode has the same key, and takes it over.
  byKey.set(apiKey, counted);
  forgetOldest();
  return { calls: () => counted.calls, lastCallAt: () => counted.last };
}

/** To be told of each request before it is sent. Throws the signal's reason where the attempt is over. */
export function noteRequest(path: string, headers: unknown, now: number): void {
  if (!path.includes("/chat/completions")) return;
  const counted = byKey.get(bearerOf(headers));
  if (!counted) return;
  counted.signal.throwIfAborted();
  counted.calls += 1;
  counted.last = now;
}

/** More than any process has attempts at once. */
const MOST_KEYS = 10_000;

function forgetOldest(): void {
  const [oldest] = byKey.keys();
  if (byKey.size > MOST_KEYS && oldest !== undefined) byKey.delete(oldest);
}

/** undici takes headers as an object, as a flat list, or as pairs. */
function bearerOf(headers: unknown): string {
  const value = authorizationOf(headers);
  return typeof value === "string" ? value.replace(/^bearer\s+/i, "") : "";
}

function authorizationOf(headers: unknown): unknown {
  if (Array.isArray(headers)) {
    const at = headers.findIndex((name, index) => index % 2 === 0 && isAuthorization(name));
    return at < 0 ? undefined : headers[at + 1];
  }
  if (typeof headers !== "object" || headers === null) return undefined;
  const pairs =
    Symbol.iterator in headers ? [...(headers as Iterable<[string, unknown]>)] : Object.entries(headers);
  return pairs.find(([name]) => isAuthorization(name))?.[1];
}

function isAuthorization(name: unknown): boolean {
  return typeof name === "string" && name.toLowerCase() === "authorization";
}
