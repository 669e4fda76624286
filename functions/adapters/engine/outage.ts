/**
 * Whether an answer to a model call is of neither the model nor the engine: of a proxy, a limiter or a gateway before them,
 * which says nothing of the agent's doing.
 */
import { detailOf } from "./engine-words.ts";
import type { HttpReply } from "./http.ts";
import { parseJson } from "./json.ts";

/** Neither the model's route nor the engine has these of its own. */
const inBetween: ReadonlySet<number> = new Set([403, 407, 408, 429, 502, 503, 504]);

/** What can be seen in the head of an answer. Undefined: it may be the model's or the engine's. */
export function outageIn(status: number, contentType: string): string | undefined {
  const words = `HTTP ${status}${contentType === "" ? "" : ` of ${contentType}`}`;
  if (inBetween.has(status) || (status >= 300 && status < 400)) return words;
  // Model and engine answer in JSON or as events; an unhandled error of the engine is plain text.
  const known = status === 500 ? /json|event-stream|text\/plain/ : /json|event-stream/;
  return known.test(contentType) ? undefined : words;
}

/** The engine's refusals of a model call. Source: the recorded traces, and the newer model route. */
const ENGINE_WORDS =
  /authorization (header|data)|episode\b.* (not found|is not claimed)|not in ENGINE\.ROLLING status/i;

/** As `outageIn`, from the whole of an answer without choices. */
export function outageOf(reply: HttpReply): string | undefined {
  const seen = outageIn(reply.status, reply.contentType);
  if (seen !== undefined) return seen;
  const json = parseJson(reply.text);
  if (reply.status === 500 && json === undefined) return undefined;
  const words = `HTTP ${reply.status} with no answer of a model`;
  if (typeof json !== "object" || json === null) return words;
  const detail = detailOf(reply);
  if (reply.status === 401 || reply.status === 404)
    return typeof detail === "string" && ENGINE_WORDS.test(detail) ? undefined : words;
  // A completion, an error of the model's server, or an older engine's refusal.
  const fields = ["choices", "error", "object", "detail", "status_code"];
  return fields.some((field) => Object.hasOwn(json, field)) ? undefined : words;
}
