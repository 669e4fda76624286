import { describe, expect, test, vi } from "vitest";
import type { QueueRecord } from "../../../../functions/core/queue.ts";
import { Places } from "../../../../functions/core/rollout/places.ts";
import { RecentDurations } from "../../../../functions/core/rollout/recent-durations.ts";
import { Refill } from "../../../../functions/core/rollout/refill.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

const record = (name: string): QueueRecord => ({
  messageId: name,
  receipt: `receipt of ${name}`,
  body: "{}",
  receiveCount: 1,
  sentAt: 0,
  attributes: {},
});
type Outcome = "done" | "deferred" | "trouble";

/** An invocation of 900 s with three places, over a queue of the names given; each rollout ends when told. */
function invocation(names: string[], places = 3) {
  const clock = new FakeClock(0, "manual");
  const state = { status: "ENGINE.ROLLING", closed: undefined as string | undefined, listed: true };
  const asked: [count: number, waitSeconds: number, at: number][] = [];
  const deferred: [string, number][] = [];
  const running = new Map<string, (outcome: Outcome) => void>();
  const started: string[] = [];
  const log: string[] = [];
  const listed: string[][] = [];
  const disposed: string[] = [];
  const durations = new RecentDurations();
  const held = new Places(places);
  const refill = new Refill(
    {
      clock,
      log: (_level, message) => void log.push(message),
      engine: {
        status: async () => ({
          engine_status: state.status,
          engine_status_detail: null,
          global_step: 1,
        }),
      },
      gate: { closedFor: async () => state.closed, isTripped: async () => false },
      queue: {
        receive: async (count, waitSeconds) => {
          asked.push([count, waitSeconds, clock.now()]);
          return names.splice(0, count).map(record);
        },
        defer: async (receipt, seconds) => void deferred.push([receipt, seconds]),
      },
    },
    {
      places: held,
      endsAt: 900_000,
      limits: { minEpisodeSeconds: 30, settleMarginSeconds: 20 },
      durations,
      life: {
        received: async (receipts) => {
          if (!state.listed) throw new Error("no table");
          listed.push([...receipts]);
        },
        disposed: (receipt) => void disposed.push(receipt),
      },
      run: ({ messageId }) => {
        started.push(messageId);
        return new Promise((resolve) => running.set(messageId, resolve));
      },
    },
  );
  const end = async (name: string, outcome: Outcome = "done") => {
    running.get(name)?.(outcome);
    running.delete(name);
    await clock.advance(0);
    await new Promise(setImmediate);
  };
  const over = vi.fn();
  const begun = async () => {
    void refill.run().then(over);
    await clock.advance(0);
    await new Promise(setImmediate);
  };
  return { clock, state, asked, deferred, started, log, listed, disposed, durations, held, begun, end, over };
}

describe("an invocation with free places", () => {
  test("takes as many messages as it has places for, and one more for each that is done", async () => {
    const i = invocation(["a", "b", "c", "d", "e"]);
    await i.begun();
    expect(i.started).toEqual(["a", "b", "c"]);
    await i.end("b");
    expect(i.started).toEqual(["a", "b", "c", "d"]);
    await i.end("a", "deferred");
    expect(i.started).toEqual(["a", "b", "c", "d", "e"]);
    expect(i.asked.map(([count]) => count)).toEqual([3, 1, 1]);
  });

  test("lists the receipts before the rollouts run", async () => {
    const i = invocation(["a", "b"]);
    await i.begun();
    expect(i.listed).toEqual([["receipt of a", "receipt of b"]]);
  });

  test("puts messages back that it cannot list, runs none of them, and asks again only after a while", async () => {
    const i = invocation(["a", "b"]);
    void i.held.hold(new Promise(() => undefined));
    i.state.listed = false;
    await i.begun();
    expect(i.started).toEqual([]);
    expect(i.deferred).toEqual([
      ["receipt of a", 0],
      ["receipt of b", 0],
    ]);
    expect(i.disposed).toEqual(["receipt of a", "receipt of b"]);
    await i.clock.advance(9000);
    expect(i.asked).toHaveLength(1);
  });

  test("is over once nothing runs and the queue had nothing twice", async () => {
    const i = invocation([]);
    await i.begun();
    expect(i.asked).toEqual([
      [3, 0, 0],
      [3, 0, 0],
    ]);
    expect(i.over).toHaveBeenCalledOnce();
  });

  test("asks an empty queue less and less often while its last episode runs, and at once when one ends", async () => {
    const i = invocation(["a", "b"]);
    await i.begun();
    await i.clock.advance(40_000);
    expect(i.asked.map(([, , at]) => at)).toEqual([0, 0, 1000, 3000, 7000, 15_000, 31_000]);
    await i.end("a");
    expect(i.asked.at(-1)).toEqual([2, 1, 40_000]);
    await i.end("b");
    expect(i.over).toHaveBeenCalledOnce();
  });

  test.each([
    ["ENGINE.ROLLING", 3],
    ["ENGINE.ROLLING_POST", 3],
    ["ENGINE.WEIGHT_SYNCING", 3],
    ["ENGINE.OFFLINE", 0],
    ["ENGINE.BOOTING", 0],
    ["ENGINE.CANNOT_CONNECT", 0],
  ])("takes messages while the engine is %s: %i", async (status, count) => {
    const i = invocation(["a", "b", "c"]);
    i.state.status = status;
    await i.begun();
    expect(i.started).toHaveLength(count);
  });

  test("takes none while the fleet's gate is closed, and ends when nothing runs", async () => {
    const i = invocation(["a"]);
    i.state.closed = "paused";
    await i.begun();
    expect(i.started).toEqual([]);
    expect(i.over).toHaveBeenCalledOnce();
  });

  test("takes none for ten seconds after the table or the queue did not answer a rollout", async () => {
    const i = invocation(["a", "b", "c", "d"]);
    await i.begun();
    await i.end("a", "trouble");
    await i.clock.advance(9000);
    expect(i.started).toEqual(["a", "b", "c"]);
    await i.clock.advance(2000);
    expect(i.started).toEqual(["a", "b", "c", "d"]);
  });
});

describe("an invocation whose time is nearly up", () => {
  test("takes no more once an episode has too little time, and ends with its last one", async () => {
    const i = invocation(["a", "b", "c", "d", "e"]);
    await i.begun();
    await i.clock.advance(850_000);
    await i.end("a");
    expect(i.started).toEqual(["a", "b", "c", "d"]);
    await i.clock.advance(1);
    await i.end("b");
    expect(i.started).toEqual(["a", "b", "c", "d"]);
    await i.end("c");
    expect(i.over).not.toHaveBeenCalled();
    await i.end("d");
    expect(i.over).toHaveBeenCalledOnce();
  });

  test("counts on episodes that take as long as the longest of the last ones", async () => {
    const i = invocation(["a", "b", "c", "d"]);
    await i.begun();
    i.durations.add(400_000);
    i.durations.add(3000);
    await i.clock.advance(480_001);
    await i.end("a");
    expect(i.started).toEqual(["a", "b", "c"]);
  });
});
