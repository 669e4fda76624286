import { expect, test } from "vitest";
import type { Reason } from "../../../../functions/core/reasons.ts";
import { isRound, isWaitedFor } from "../../../../functions/core/rollout/give-ups.ts";

const ended = (reason: Reason) => ({ id: "a", episode: "e", reason, at: 2, from: 1, step: 1 });
const history = (...reasons: Reason[]) => ({ history: reasons.map(ended) });

test("a rollout is waited for once it was given up four times, whatever else happened to it", () => {
  expect(isWaitedFor(undefined)).toBe(false);
  expect(isWaitedFor(history("straggler", "straggler", "agent-error", "straggler"))).toBe(false);
  expect(isWaitedFor(history("straggler", "straggler", "agent-error", "straggler", "straggler"))).toBe(true);
});

test("the engine waits for such rollouts in every 16th batch", () => {
  const rounds = Array.from({ length: 49 }, (_, step) => step).filter((step) => isRound(step));
  expect(rounds).toEqual([0, 16, 32, 48]);
  expect(isRound(null)).toBe(false);
});
