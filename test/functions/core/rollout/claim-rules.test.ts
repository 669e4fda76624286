import { expect, test } from "vitest";
import {
  delayAfterRefusal,
  endOrAbort,
  expiryOf,
  isNoEpisodes,
} from "../../../../functions/core/rollout/claim-rules.ts";

test.for([
  ["No available episodes to claim. Try again (maybe 1 minute) later.", 2],
  ["No available episodes to claim. Try again (maybe 2 minutes) later.", 2],
  ["Engine not ready. Current status: [ENGINE.WEIGHT_SYNCING]. Engine is syncing weights. …", 15],
  ["no available episodes to claim.", 15],
  ["something never heard of", 15],
  ["", 15],
] as const)("after the refusal %j the next try comes %i s later", ([failCause, seconds]) => {
  expect(delayAfterRefusal(failCause)).toBe(seconds);
  expect(isNoEpisodes(failCause)).toBe(seconds === 2);
});

test("an episode may live eight times its discard timeout", () => {
  expect(expiryOf(1_000_000, 240)).toBe(1_000_000 + 1_920_000);
  expect(expiryOf(0, 0.5)).toBe(4000);
});

test.for([
  [{ expiresAt: 1000, now: 999, known: true }, "end"],
  [{ expiresAt: 1000, now: 1000, known: true }, "end"],
  [{ expiresAt: 1000, now: 1001, known: true }, "abort"],
  [{ expiresAt: 1000, now: 0, known: false }, "abort"],
] as const)("an episode %j is settled by %s", ([age, action]) => {
  expect(endOrAbort(age)).toBe(action);
});
