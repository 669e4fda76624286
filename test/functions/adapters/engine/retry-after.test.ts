import { expect, test } from "vitest";
import { LONGEST_RETRY_AFTER_MS, retryAfterMs } from "../../../../functions/adapters/engine/retry-after.ts";

const date = "Mon, 01 Jun 2026 10:00:00 GMT";

test.for([
  ["5", date, 5000],
  [" 0 ", date, 0],
  ["99999", date, LONGEST_RETRY_AFTER_MS],
  ["Mon, 01 Jun 2026 10:00:30 GMT", date, 30_000],
  ["Mon, 01 Jun 2026 09:00:00 GMT", date, 0],
  ["Mon, 01 Jun 2026 12:00:00 GMT", date, LONGEST_RETRY_AFTER_MS],
  ["Mon, 01 Jun 2026 10:00:30 GMT", "", undefined],
  ["soon", date, undefined],
  ["", date, undefined],
] as const)("retry-after %j asks for %d ms", ([retryAfter, at, ms]) => {
  expect(retryAfterMs({ retryAfter, date: at })).toBe(ms);
});
