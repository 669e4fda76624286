import { expect, test } from "vitest";
import { withDiscardHint } from "../../../../functions/core/rollout/discard-hint.ts";

const attempt = { discard_timeout: 240, claimed_at: 0, last_call_at: 100_000 };

test.each([
  ["an episode that was lost for another reason", 339_000, attempt, "gone"],
  [
    "one call that took longer than the timeout",
    401_000,
    attempt,
    /^gone: no model call had begun for 301 s, .* of 460 s/,
  ],
  [
    "an agent that never called the model",
    240_000,
    { ...attempt, last_call_at: undefined },
    /for 240 s, .* of 360 s/,
  ],
])("%s", (_, lostBy, facts, expected) => {
  expect(withDiscardHint("gone", facts, lostBy)).toMatch(expected);
});

test("says nothing of timeouts where the episode was not idle for so long", () => {
  expect(withDiscardHint("gone", attempt, 339_999)).toBe("gone");
});
