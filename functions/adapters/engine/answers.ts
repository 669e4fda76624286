/** What an answer, or the lack of one, says about a call: a value, or an `EngineError` of the right kind. */
import type { z } from "zod";
import { EngineError, redact } from "../../core/errors.ts";
import { neverSent } from "./dispatcher.ts";
import { GivenUp, type HttpReply } from "./exchange.ts";

/** Characters of somebody else's text that a message quotes at most. */
export const MAX_QUOTE = 300;

/** Somebody else's text, without keys and bounded. */
export function quote(text: string): string {
  const clean = redact(text.trim());
  return clean.length > MAX_QUOTE ? `${clean.slice(0, MAX_QUOTE)}…` : clean;
}

/** What stands in the text as JSON; undefined where it is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
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
 * @throws EngineError `refused` for 3xx and 4xx; `unclear` for 5xx and for a 200 that is not what the call answers.
 */
export function readAnswer<T>(call: string, url: string, reply: HttpReply, schema: z.ZodType<T>): T {
  const { status } = reply;
  const fail = (failure: "refused" | "unclear", detail: string) =>
    new EngineError({ failure, call, status, detail });
  if (status >= 500) throw fail("unclear", foreign(reply, url) ?? wordsOf(reply));
  if (status >= 400) throw fail("refused", foreign(reply, url) ?? wordsOf(reply));
  if (status >= 300) {
    throw fail(
      "refused",
      `expected the engine's JSON, found a redirect to ${quote(reply.location)}; check engineUrl`,
    );
  }
  const json = parseJson(reply.text);
  if (json === undefined) throw fail("unclear", foreign(reply, url) ?? notJson(reply, url));
  const parsed = schema.safeParse(json);
  if (parsed.success) return parsed.data;
  throw fail("unclear", `expected the protocol's fields, found others: ${quote(issuesOf(parsed.error))}`);
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
