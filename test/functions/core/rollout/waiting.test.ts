import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Reason } from "../../../../functions/core/reasons.ts";
import type { WaitedBecause } from "../../../../functions/core/rollout/claim.ts";
import { waitAfterAttempt, waitInQueue } from "../../../../functions/core/rollout/waiting.ts";

const middle = () => 0.5;
const ended = (reason: Reason) => ({ id: "a", episode: "e", reason, at: 2, from: 1, step: 1 });
const whys: WaitedBecause[] = [
  "not-rolling",
  "no-episodes",
  "throttled",
  "refused",
  "engine-error",
  "stopped",
];

describe("waiting in the queue", () => {
  test("grows with each delivery up to the longest for its cause", () => {
    const waits = [1, 2, 3, 4, 5, 6, 7, 8, 9, 40].map((count) => waitInQueue("engine-error", count, middle));
    expect(waits).toEqual([10, 15, 23, 34, 51, 76, 114, 120, 120, 120]);
  });

  test.each([
    ["not-rolling", 60],
    ["no-episodes", 60],
    ["refused", 60],
    ["engine-error", 120],
    ["throttled", 60],
    ["stopped", 5],
    ["no-time", 5],
    ["closed", 60],
  ] as const)("%s: at most %d s", (because, longest) => {
    expect(waitInQueue(because, 40, middle)).toBe(longest);
  });

  test("lets a message wait for the 14 days that SQS keeps it, within the deliveries that SQS allows", () => {
    const shortest = Array.from({ length: 999 }, (_, n) => waitInQueue("not-rolling", n + 1, () => 0));
    const days = shortest.reduce((sum, seconds) => sum + seconds, 0) / 86_400;
    // Each delivery waits inside the function as well, so the true time is longer still.
    expect(days).toBeGreaterThan(12.9);
    const inside = (999 * 120) / 86_400;
    expect(days + inside).toBeGreaterThan(14);
  });

  test("is spread by a quarter either way", () => {
    expect(waitInQueue("not-rolling", 40, () => 0)).toBe(45);
    expect(waitInQueue("not-rolling", 40, () => 0.999_999)).toBe(75);
  });

  test("is a whole number of seconds that SQS takes, whatever the count", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...whys),
        fc.nat(1_000_000),
        fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
        (why, count, r) => {
          const seconds = waitInQueue(why, count, () => r);
          expect(Number.isInteger(seconds)).toBe(true);
          expect(seconds).toBeGreaterThanOrEqual(1);
          expect(seconds).toBeLessThanOrEqual(12 * 3600);
        },
      ),
    );
  });
});

test("after an attempt that was used up the wait is 2 s, 8 s, 32 s, 128 s, then five minutes", () => {
  const waits = [1, 2, 3, 4, 5, 600].map((attempts) =>
    waitAfterAttempt({ attempts, history: [ended("agent-error")] }, middle),
  );
  expect(waits).toEqual([2, 8, 32, 128, 300, 300]);
});

test("after attempts without penalty the wait grows up to a minute", () => {
  const waits = [1, 2, 3, 6, 20].map((tries) => {
    const history = Array.from({ length: tries }, () => ended("engine-left-rolling"));
    return waitAfterAttempt({ attempts: 0, history }, middle);
  });
  expect(waits).toEqual([2, 3, 5, 15, 60]);
});
