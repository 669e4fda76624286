/** One HTTP request and its whole answer, bounded in time and size. Throws what undici throws. */
import type { Dispatcher } from "undici";
import { markUnsent, mediaType } from "./dispatcher.ts";
import { GuardedDispatcher, isUnauthorised } from "./guard.ts";
import type { HttpReply, HttpRequest } from "./http.ts";

/** Bytes of an answer that are read at most: a pool of a large batch has a few megabytes. */
export const MAX_BODY_BYTES = 64 * 1024 * 1024;
/** No cache on the way may answer in place of the engine. */
const FRESH = { accept: "application/json", "cache-control": "no-cache" } as const;

/**
 * Sends again, once, what a proxy refused over a token that has been rotated since: neither the proxy nor the engine acts
 * on what it answers 401 or 403 to.
 */
export async function exchange(dispatcher: Dispatcher, request: HttpRequest): Promise<HttpReply> {
  if (!(dispatcher instanceof GuardedDispatcher)) return await send(dispatcher, request);
  const { version } = dispatcher;
  const reply = await send(dispatcher, request);
  if (!isUnauthorised(reply.status)) return reply;
  // A token that cannot be read leaves the refusal standing, which says enough.
  const renewed = await dispatcher.renew(version).catch(() => false);
  return renewed ? await send(dispatcher, request) : reply;
}

async function send(dispatcher: Dispatcher, request: HttpRequest): Promise<HttpReply> {
  // undici would refuse as well, but past the dispatcher, which then could not note that nothing was sent.
  if (request.signal.aborted) throw markUnsent(request.signal.reason);
  const url = new URL(request.url);
  const body = encoded(request.body);
  const reply = await dispatcher.request({
    origin: url.origin,
    path: url.pathname + url.search,
    method: request.method,
    headers: { ...FRESH, "content-type": body.type, ...request.headers },
    body: body.content,
    signal: request.signal,
  });
  const { location, date, "retry-after": retryAfter } = reply.headers;
  return {
    status: reply.statusCode,
    contentType: mediaType(reply.headers["content-type"]),
    location: String(location ?? ""),
    retryAfter: String(retryAfter ?? ""),
    date: String(date ?? ""),
    text: await readText(reply.body),
  };
}

function encoded(body: unknown): { type: string; content: Uint8Array | string | null } {
  if (body instanceof Uint8Array) return { type: "application/zip", content: body };
  return { type: "application/json", content: body === undefined ? null : JSON.stringify(body) };
}

async function readText(body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    // Leaving the loop destroys the body, and with it the connection.
    if (bytes > MAX_BODY_BYTES)
      throw new Error(`expected an answer of at most ${MAX_BODY_BYTES} bytes, found more`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** Why a call of ours was given up: its time was over, or the caller's signal fired. One object per call. */
export class GivenUp extends Error {}

/**
 * Runs `work` under a signal that fires after `timeoutMs` or with `outer`. A timer of our own, since it holds what it
 * fires on; a signal composed by `AbortSignal.any` can be collected before it fires.
 */
export async function withDeadline<T>(
  timeoutMs: number,
  outer: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  const give = (why: string, cause?: unknown) => controller.abort(new GivenUp(why, { cause }));
  const stop = () => give(`stopped by the caller (${String(outer?.reason)})`, outer?.reason);
  const timer = setTimeout(() => give(`no answer within ${timeoutMs / 1000} s`), timeoutMs);
  if (outer?.aborted) stop();
  outer?.addEventListener("abort", stop, { once: true });
  try {
    return await work(controller.signal);
  } finally {
    clearTimeout(timer);
    outer?.removeEventListener("abort", stop);
  }
}
