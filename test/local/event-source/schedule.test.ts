import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Schedule } from "../../../local/event-source/schedule.ts";

beforeEach(() => {
  vi.useFakeTimers({ now: Date.UTC(2026, 0, 2, 3, 4, 5, 678) });
});
afterEach(() => {
  vi.useRealTimers();
});

function schedule(invoke: (event: unknown) => Promise<unknown>, input?: string): Schedule {
  return new Schedule({ name: "tick", periodMs: 60_000, input, invoke });
}

describe("a schedule", () => {
  it("invokes at once, and then every period until it is stopped", async () => {
    const times: number[] = [];
    const start = Date.now();
    const ticking = schedule(async () => times.push(Date.now() - start), "{}");
    ticking.start();
    await vi.advanceTimersByTimeAsync(125_000);
    await ticking.stop();
    await vi.advanceTimersByTimeAsync(600_000);
    expect(times).toEqual([0, 60_000, 120_000]);
  });

  it("does not wait for the invocation before", async () => {
    let open = 0;
    const ticking = schedule(() => {
      open += 1;
      return new Promise(() => {});
    }, "{}");
    ticking.start();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(open).toBe(2);
    expect(await ticking.stop(10)).toBe(2);
  });

  it("makes one attempt, and goes on with the next tick after a failure", async () => {
    let attempts = 0;
    const ticking = schedule(async () => {
      attempts += 1;
      throw new Error("no");
    }, "{}");
    ticking.start();
    await vi.advanceTimersByTimeAsync(59_999);
    expect(attempts).toBe(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(attempts).toBe(2);
    await ticking.stop();
  });
});

describe("its event", () => {
  async function eventOf(input?: string): Promise<unknown> {
    const events: unknown[] = [];
    const ticking = schedule(async (event) => events.push(event), input);
    ticking.start();
    await ticking.stop();
    return events[0];
  }

  it("is the target's input", async () => {
    expect(await eventOf('{"kind":"tick"}')).toEqual({ kind: "tick" });
  });

  it("has the scheduler's own facts in place of their names", async () => {
    const input =
      '{"at":"<aws.scheduler.scheduled-time>","by":"<aws.scheduler.schedule-arn>","try":<aws.scheduler.attempt-number>}';
    expect(await eventOf(input)).toEqual({
      at: "2026-01-02T03:04:05Z",
      by: "arn:aws:scheduler:us-east-1:000000000000:schedule/default/tick",
      try: 1,
    });
  });

  it("is the scheduler's default where the target has no input", async () => {
    expect(await eventOf()).toEqual({
      version: "0",
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      "detail-type": "Scheduled Event",
      source: "aws.scheduler",
      account: "000000000000",
      time: "2026-01-02T03:04:05Z",
      region: "us-east-1",
      resources: ["arn:aws:scheduler:us-east-1:000000000000:schedule/default/tick"],
      detail: "{}",
    });
  });
});
