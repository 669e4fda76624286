/** What an answer, or the lack of one, says about a call: a value, or an `EngineError` of the right kind. */
import type { z } from "zod";
import { EngineError, NotOfferedError, redact } from "../../core/errors.ts";
import type { CallName } from "./call-names.ts";
import { neverSent } from "./dispatcher.ts";
import { isRefusal, lacksCall } from "./engine-words.ts";
import { GivenUp } from "./exchange.ts";
import type { HttpReply } from "./http.ts";
import { parseJson } from "./json.ts";
import { retryAfterMs } from "./retry-after.ts";

/** Characters of somebody else's text that a message quotes at most. */
export const MAX_QUOTE = 300;

/** Somebody else's text, without keys and bounded. */
export function quote(text: string): string {
  const clean = redact(text.trim());
  return clean.length > MAX_QUOTE ? `${clean.slice(0, MAX_QUOTE)}…` : clean;
}

/** The words of a refusal: FastAPI's `detail`, OpenAI's `error.message`, else the text itself. */
export function wordsOf(reply: HttpReply): string {
  const json = parseJson(reply.text);
  const words = field(json, "detail") ?? field(field(json, "error"), "message") ?? field(json, "error");
  if (words === undefined) return quote(reply.text);
  return quote(typeof words === "string" ? words : JSON.stringify(words));
}

function field(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}

/**
 * Decodes an answer of the engine.
 * @throws EngineError `refused` for a refusal that the engine itself gives to this call; `unclear` for every other answer
 * that is not what the call answers. @throws NotOfferedError where the engine is older than the call.
 */
export function readAnswer<T>(call: CallName, url: string, reply: HttpReply, schema: z.ZodType<T>): T {
  const { status } = reply;
  const fail = (failure: "refused" | "unclear", detail: string) =>
    new EngineError({
      failure,
      call,
      status,
      detail,
      retryAfterMs: retryAfterMs(reply),
      turnedAway: failure === "unclear" && isTurnedAway(reply),
    });
  if (lacksCall(call, reply)) throw new NotOfferedError(call, status);
  if (isRefusal(call, reply)) throw fail("refused", wordsOf(reply));
  if (status !== 200) throw fail("unclear", strangeAnswer(reply, url));
  const json = parseJson(reply.text);
  if (json === undefined) throw fail("unclear", notJson(reply, url));
  const parsed = schema.safeParse(json);
  if (parsed.success) return parsed.data;
  throw fail("unclear", `expected the protocol's fields, found others: ${quote(issuesOf(parsed.error))}`);
}

/** Whoever passes a request on answers it with the engine's 200, or with a 5xx; 408 and 499 may come after that as well. */
function isTurnedAway(reply: HttpReply): boolean {
  const { status } = reply;
  if (status === 503) return retryAfterMs(reply) !== undefined;
  return status >= 300 && status < 500 && status !== 408 && status !== 499;
}

/** What was found in place of an answer that the engine gives. */
function strangeAnswer(reply: HttpReply, url: string): string {
  if (reply.status >= 500) return foreign(reply, url) ?? wordsOf(reply);
  if (reply.status >= 300 && reply.status < 400)
    return `expected the engine's JSON, found a redirect to ${quote(reply.location)}; check engineUrl`;
  const found = foreign(reply, url);
  if (found !== undefined) return found;
  return `expected the engine's own answer, found "${wordsOf(reply)}" of something before it; check engineUrl (${url}) and its proxy`;
}

function issuesOf(error: z.ZodError): string {
  return error.issues.map((issue) => `${issue.path.join(".") || "answer"}: ${issue.message}`).join("; ");
}

/** A page for humans comes from something that is no engine, or from a proxy that cannot reach it. */
function foreign(reply: HttpReply, url: string): string | undefined {
  const isPage = reply.contentType === "text/html" || /^\s*<(!doctype|html)/i.test(reply.text);
  return isPage ? notJson(reply, url) : undefined;
}

function notJson(reply: HttpReply, url: string): string {
  const type = reply.contentType || "no content type";
  return `expected the engine's JSON, found ${type}: "${quote(reply.text)}"; check engineUrl (${url})`;
}

/** The `EngineError` of a request that brought no answer. */
export function transportFailure(call: string, url: string, error: unknown): EngineError {
  const words = transportWords(error);
  if (!neverSent(error)) return new EngineError({ failure: "unclear", call, detail: words, cause: error });
  const detail =
    error instanceof GivenUp
      ? words
      : `no connection to ${url} (${words}); is the engine running, is engineUrl right?`;
  return new EngineError({ failure: "unreachable", call, detail, cause: error });
}

/** Node's and undici's words for a request that brought no answer, with their code. */
export function transportWords(error: unknown): string {
  if (error instanceof GivenUp) return quote(error.message);
  if (!(error instanceof Error)) return quote(String(error));
  const code = "code" in error && typeof error.code === "string" ? error.code : error.name;
  // Node's error of several failed addresses has an empty message of its own.
  const causes = error instanceof AggregateError ? error.errors.map((cause) => String(cause)).join(", ") : "";
  return quote([code, error.message || causes].filter((part) => part !== "").join(": "));
}
