import { describe, expect, test, vi } from "vitest";
import type { Gate } from "../../../../functions/core/circuit/gate.ts";
import {
  fencedGate,
  isLiving,
  type LifePorts,
  type Self,
  SignsOfLife,
  silenceOf,
} from "../../../../functions/core/rollout/heartbeat.ts";
import type { Invocation, InvocationStore } from "../../../../functions/core/rollout/invocation.ts";
import { dayOf, type Usage } from "../../../../functions/core/spend/spend.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

const NOW = 1_700_000_000_000;
const away = () => Promise.reject(new Error("over capacity"));

/** An invocation whose table says what a test wants: each sign of life takes the next answer, the last one stays. */
async function living(facts: { self?: Partial<Self>; gateClosed?: () => string | undefined } = {}) {
  const clock = new FakeClock(NOW, "manual");
  const said: [number, Invocation][] = [];
  const calls: [string, unknown, number?][] = [];
  const usages: [string, string, Usage][] = [];
  let answer: () => Promise<boolean> = async () => true;
  let item = true;
  const invocations: InvocationStore = {
    alive: async (invocation) => void said.push([clock.now() - NOW, invocation]),
    beat: async (invocation) => {
      said.push([clock.now() - NOW, invocation]);
      return await answer();
    },
    done: async () => {
      const was = item;
      item = false;
      return was;
    },
    read: async () => undefined,
  };
  const gate: Gate = {
    isTripped: async () => false,
    note: async () => undefined,
    check: async () => ({ open: true }),
    closedFor: async () => facts.gateClosed?.(),
    isProbeDue: async () => false,
  };
  const ports: LifePorts = {
    clock,
    invocations,
    gate,
    log: vi.fn(),
    usage: { add: async (...added) => void usages.push(added) },
    queue: {
      defer: async (receipt, seconds) => void calls.push(["defer", receipt, seconds]),
      show: async (receipts) => void calls.push(["show", receipts]),
    },
  };
  const self = {
    id: "i",
    fleet: "main",
    endsAt: NOW + 900_000,
    memoryMb: 512,
    heartbeatSeconds: 20,
    receipts: ["r-1", "r-2"],
    ...facts.self,
  };
  const life = new SignsOfLife(ports, self);
  await life.begin();
  return {
    clock,
    life,
    gate,
    said,
    calls,
    usages,
    log: ports.log,
    answers: (next: typeof answer) => {
      answer = next;
    },
    takeAway: () => {
      item = false;
    },
    at: () => said.map(([at]) => at),
    last: () => said.at(-1)?.[1],
  };
}

test("an invocation that takes further messages lists them at once, and counts their delivery", async () => {
  const { life, said, usages } = await living();
  life.disposed("r-1");
  await life.received(["r-3", "r-4"]);
  expect(said.at(-1)).toMatchObject([0, { waiting: ["r-2", "r-3", "r-4"], used: { deliveries: 4 } }]);
  await life.end();
  expect(usages).toMatchObject([["main", dayOf(NOW), { deliveries: 4 }]]);
});

test("an older sign of life that is slow does not take back what a newer one lists", async () => {
  const { clock, life, said, answers } = await living();
  let land: () => void = () => undefined;
  answers(
    () =>
      new Promise((resolve) => {
        land = () => resolve(true);
      }),
  );
  await clock.advance(20_000);
  const before = said.length;
  const received = life.received(["r-3"]);
  await new Promise(setImmediate);
  expect(said).toHaveLength(before);
  answers(async () => true);
  land();
  await received;
  expect(said.at(-1)?.[1].waiting).toEqual(["r-1", "r-2", "r-3"]);
});

describe("a living invocation", () => {
  test("says so at once and every 20 s, each time with another sign", async () => {
    const { life, clock, said, at } = await living();
    await clock.advance(40_000);
    expect(at()).toEqual([0, 20_000, 40_000]);
    expect(new Set(said.map(([, { alive_at }]) => alive_at)).size).toBe(3);
    expect(said.map(([, invocation]) => silenceOf(invocation))).toEqual([50_000, 50_000, 50_000]);
    await life.end();
  });

  test("says something new also where its clock stands still", async () => {
    const { life, clock, said } = await living({ self: { heartbeatSeconds: 0.000_001 } });
    vi.spyOn(clock, "now").mockReturnValue(NOW);
    await clock.advance(1);
    await life.end();
    const signs = said.map(([, { alive_at }]) => alive_at);
    expect(signs.length).toBeGreaterThan(1);
    expect(new Set(signs).size).toBe(signs.length);
  });

  test("repeats a sign that failed within seconds, until it is taken", async () => {
    const { life, clock, at, answers } = await living();
    answers(away);
    await clock.advance(29_000);
    answers(async () => true);
    await clock.advance(19_000);
    expect(at()).toEqual([0, 20_000, 23_000, 26_000, 29_000, 32_000]);
    expect(life.isFenced).toBe(false);
    await life.end();
  });

  test("that was declared dead knows it: it claims no more, and leaves its item and its usage to the sweep", async () => {
    const { life, gate, clock, answers, usages, at } = await living();
    const fenced = fencedGate(gate, life);
    expect([await fenced.check(), await fenced.closedFor(undefined)]).toEqual([{ open: true }, undefined]);
    answers(async () => false);
    await clock.advance(60_000);
    expect(at()).toEqual([0, 20_000]);
    expect(await fenced.check()).toMatchObject({ open: false, reason: "fenced" });
    expect(await fenced.closedFor(undefined)).toBe("this invocation was declared dead");
    await life.end();
    expect(usages).toEqual([]);
  });
});

describe("the receipts of its messages", () => {
  test("are in its item until they are done with", async () => {
    const { life, clock, last } = await living();
    expect(last()?.waiting).toEqual(["r-1", "r-2"]);
    life.disposed("r-1");
    await clock.advance(20_000);
    expect(last()?.waiting).toEqual(["r-2"]);
    life.disposed("r-2");
    await clock.advance(20_000);
    expect(last()?.waiting).toBeUndefined();
    await life.end();
  });

  test("are bounded: 10,000 fit no item", async () => {
    const receipts = Array.from({ length: 10_000 }, (_, n) => String(n).padStart(412, "r"));
    const { life, last } = await living({ self: { receipts } });
    expect(last()?.waiting).toHaveLength(728);
    expect(life.park(receipts.at(-1) ?? "")).toBe(false);
    await life.end();
  });
});

describe("messages that wait for the gate", () => {
  test("stay in the item after its end, which is no more than theirs", async () => {
    const { life, last, usages } = await living();
    life.disposed("r-2");
    expect(life.park("r-1")).toBe(true);
    await life.end();
    expect(last()).toMatchObject({ ended_at: NOW, parked: ["r-1"] });
    expect(last()).not.toHaveProperty("used");
    expect(isLiving(last(), NOW)).toBe(false);
    expect(usages).toHaveLength(1);
  });

  test("are shown as soon as it opens while the invocation still runs", async () => {
    let closed: string | undefined = "paused";
    const { life, clock, calls, last } = await living({ gateClosed: () => closed });
    life.park("r-1");
    await clock.advance(20_000);
    expect([calls, last()?.parked]).toEqual([[], ["r-1"]]);
    closed = undefined;
    await clock.advance(20_000);
    expect([calls, last()?.parked]).toEqual([[["show", ["r-1"]]], undefined]);
    await life.end();
  });

  test.each([
    ["the table takes no item", away],
    ["the invocation was declared dead", async () => false],
  ])("come back within a minute where %s: nobody would show them", async (_why, answer) => {
    const { life, answers, calls } = await living();
    life.park("r-1");
    answers(answer);
    await life.end();
    expect(calls).toEqual([["defer", "r-1", 60]]);
  });
});

describe("what it uses", () => {
  test("is in its item up to the next sign, so that one that dies is counted as well", async () => {
    const { life, clock, last, usages } = await living();
    life.countAttempt();
    expect(last()?.used).toEqual({ gb_seconds: 10, invocations: 1, deliveries: 2, attempts: 0 });
    await clock.advance(20_000);
    expect(last()?.used).toEqual({ gb_seconds: 20, invocations: 1, deliveries: 2, attempts: 1 });
    await clock.advance(10_000);
    await life.end();
    const used = { gb_seconds: 15, invocations: 1, deliveries: 2, attempts: 1 };
    expect(usages).toEqual([["main", dayOf(NOW), used]]);
  });

  test("is not counted again where the sweep has taken its item away", async () => {
    const { life, takeAway, usages } = await living();
    takeAway();
    await life.end();
    expect(usages).toEqual([]);
  });
});
