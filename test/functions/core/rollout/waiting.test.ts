import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Reason } from "../../../../functions/core/reasons.ts";
import type { WaitReason } from "../../../../functions/core/rollout/claim.ts";
import {
  PATIENT_WAIT_SECONDS,
  waitAfterAttempt,
  waitInQueue,
  withinDeliveries,
} from "../../../../functions/core/rollout/waiting.ts";

const middle = () => 0.5;
const ended = (reason: Reason) => ({ id: "a", episode: "e", reason, at: 2, from: 1, step: 1 });
const whys: WaitReason[] = ["not-rolling", "no-episodes", "throttled", "refused", "engine-error", "stopped"];

describe("waiting in the queue", () => {
  test("grows with each delivery up to the longest for its cause", () => {
    const waits = [1, 2, 3, 4, 5, 6, 7, 8, 9, 40].map((count) => waitInQueue("engine-error", count, middle));
    expect(waits).toEqual([10, 15, 23, 34, 51, 76, 114, 120, 120, 120]);
  });

  test.each([
    ["not-rolling", 60],
    ["no-episodes", 60],
    ["not-needed", 60],
    ["refused", 60],
    ["engine-error", 120],
    ["throttled", 60],
    ["stopped", 5],
    ["no-time", 5],
    ["closed", 60],
  ] as const)("%s: at most %d s", (because, longest) => {
    expect(waitInQueue(because, 40, middle)).toBe(longest);
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

describe("deliveries, of which SQS allows so many,", () => {
  const DAY_S = 86_400;
  const inQueue = (maxReceiveCount: number, messageRetentionDays: number) => ({
    maxReceiveCount,
    messageRetentionDays,
  });

  /** Waits of so many seconds until the deliveries are used up; resolves to how long that took, and to the waits. */
  function waitsThrough(natural: number, queue: ReturnType<typeof inQueue>) {
    const waits: number[] = [];
    let at = 0;
    for (let receiveCount = 1; receiveCount <= queue.maxReceiveCount; receiveCount += 1) {
      const wait = withinDeliveries(natural, { receiveCount, sentAt: 0 }, queue, at * 1000);
      waits.push(wait);
      at += wait;
    }
    return { days: at / DAY_S, waits };
  }

  test.each([
    [1, 1000, 14],
    [5, 1000, 14],
    [60, 1000, 14],
    [300, 1000, 14],
    [7200, 1000, 14],
    [60, 436, 14],
    [60, 124, 1],
  ])("outlast the message, whatever it waits for: %i s, %i deliveries, %i days", (natural, most, days) => {
    expect(waitsThrough(natural, inQueue(most, days)).days).toBeGreaterThanOrEqual(days);
  });

  test("a throttled message with 500 of 1,000 behind it still comes back within its minute", () => {
    const { waits } = waitsThrough(60, inQueue(1000, 14));
    expect(waits.slice(0, 600)).toEqual(Array.from({ length: 600 }, () => 60));
    expect(Math.max(...waits)).toBeLessThanOrEqual(PATIENT_WAIT_SECONDS + 60);
  });

  test("cost a message no patience that is young, or nearly done with", () => {
    const queue = inQueue(1000, 14);
    expect(withinDeliveries(60, { receiveCount: 1, sentAt: 0 }, queue, 0)).toBe(60);
    expect(withinDeliveries(60, { receiveCount: 950, sentAt: 0 }, queue, 13 * DAY_S * 1000)).toBe(60);
  });

  test("are never stretched beyond what SQS hides a message for", () => {
    expect(withinDeliveries(60, { receiveCount: 1000, sentAt: 0 }, inQueue(1000, 14), 0)).toBe(39_600);
  });
});
