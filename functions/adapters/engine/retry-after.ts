import type { HttpReply } from "./http.ts";

/** More than ten minutes is not obeyed: what asks for that is looked at again all the same. */
export const LONGEST_RETRY_AFTER_MS = 600_000;

/**
 * Milliseconds that `retry-after` asks for: seconds, or an HTTP date, which is read against the answer's own `date` so
 * that no two clocks are compared. Undefined where it says nothing that can be read. Source: RFC 9110, 10.2.3.
 */
export function retryAfterMs({
  retryAfter,
  date,
}: Pick<HttpReply, "retryAfter" | "date">): number | undefined {
  const text = retryAfter.trim();
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.parse(date);
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(0, ms), LONGEST_RETRY_AFTER_MS);
}
