import { describe, expect, test } from "vitest";
import { type TickPorts, tick } from "../../../../functions/core/housekeeping/tick.ts";
import { anAttempt, NOW } from "../items.ts";
import { type World, worlds } from "./engine-and-table.ts";

const open = worlds();

type Part = "drive" | "sweep" | "budget" | "snapshot";

/** Ticks; notes each part that ran and when (ms since the tick began), and lets those fail that shall. */
async function ticked(
  world: World,
  facts: {
    failing?: Part;
    interval?: number;
    sweepMs?: number;
    driveLooks?: number;
    within?: TickPorts["within"];
    sweepWaits?: Promise<void>;
  } = {},
) {
  const { clock, log, engine } = world.ports;
  const began = clock.now();
  const ran: [Part, number][] = [];
  const published: number[] = [];
  const run = (part: Part) => {
    ran.push([part, clock.now() - began]);
    if (facts.failing === part) throw new Error(`${part} is out of order`);
  };
  const index = {
    ...world.store,
    openRollouts: async (name: string) => {
      run("sweep");
      await clock.sleep(facts.sweepMs ?? 0);
      await facts.sweepWaits;
      return await world.store.openRollouts(name);
    },
  };
  const fleet = {
    name: world.name,
    depths: async () => ({ queue: { visible: 0, in_flight: 0, delayed: 0 }, deadLetters: 0 }),
    gate: () => world.gates.read(world.name),
    spend: () => Promise.reject(new Error("not asked for here")),
  };
  const store = {
    ...world.store,
    writeSnapshot: async (snapshot: Parameters<typeof world.store.writeSnapshot>[0]) => {
      run("snapshot");
      await world.store.writeSnapshot(snapshot);
    },
  };
  const snapshot = await tick(
    {
      clock,
      log,
      drive: async () => {
        run("drive");
        while (published.length < (facts.driveLooks ?? 0)) await new Promise(setImmediate);
      },
      within: facts.within ?? ((_ms, work) => work),
      publish: ({ at }) => published.push(Date.parse(at) - began),
      sweep: { ...world.ports, index },
      budget: async () => run("budget"),
      snapshot: {
        clock,
        log,
        engine,
        store,
        fleets: [fleet],
        observed: async () => undefined,
        scheduleMinutes: 1,
      },
    },
    { engine: world.name, sweepIntervalSeconds: facts.interval ?? 20 },
  );
  return { snapshot, ran, published, parts: ran.map(([part]) => part), took: clock.now() - began };
}

const all: Part[] = ["drive", "sweep", "budget", "snapshot"];

/** A rollout at work, so that the tick goes on sweeping. */
async function withOpenRollout(facts: { silent_at?: number } = {}): Promise<World> {
  const world = await open();
  await world.put({ key: "open", state: "running", attempt: anAttempt() });
  await world.alive("invocation-1", facts);
  return world;
}

describe("a tick", () => {
  test("drives, sweeps, keeps the budget and takes the snapshot, once where nothing is open", async () => {
    const world = await open();
    const { parts, snapshot, took } = await ticked(world);
    expect([parts, took]).toEqual([all, 0]);
    expect(snapshot?.at).toBe(new Date(NOW).toISOString());
  });

  test.each(all)("runs every other part although %s fails", async (failing) => {
    const world = await open();
    const { parts, snapshot } = await ticked(world, { failing });
    expect(parts).toEqual(all);
    expect(snapshot === undefined).toBe(failing === "snapshot");
    expect(world.log).toHaveBeenCalledWith("error", `${failing} failed`, {
      error: expect.stringContaining("out of order"),
    });
  });

  test("sweeps again every 20 s while a rollout is open, and ends before the next tick", async () => {
    const { ran, took } = await ticked(await withOpenRollout());
    expect(ran.filter(([part]) => part === "sweep").map(([, at]) => at)).toEqual([0, 20_000, 40_000]);
    expect(took).toBe(40_000);
  });

  test("goes on sweeping where a sweep fails", async () => {
    const { parts } = await ticked(await withOpenRollout(), { failing: "sweep" });
    expect(parts.filter((part) => part === "sweep")).toHaveLength(3);
  });

  test("sweeps once only where the interval is 0", async () => {
    const { parts } = await ticked(await withOpenRollout(), { interval: 0 });
    expect(parts.filter((part) => part === "sweep")).toHaveLength(1);
  });

  test("goes on without a sweep that hangs: the snapshot is taken, and no second sweep begins beside it", async () => {
    const world = await withOpenRollout();
    const limits: number[] = [];
    const table = Promise.withResolvers<never>();
    const within: TickPorts["within"] = async (ms, work) => {
      limits.push(ms);
      // The first two who wait for it have waited for long enough.
      if (limits.length <= 2) return undefined;
      table.reject(new Error("the table does not answer"));
      return await work;
    };
    const { parts } = await ticked(world, { within, sweepWaits: table.promise });
    expect(limits).toEqual([17_000, 17_000, 17_000]);
    expect(parts.filter((part) => part === "sweep")).toHaveLength(1);
    expect(parts).toContain("snapshot");
    expect(world.log).toHaveBeenCalledWith("warn", "sweep takes longer than it may", { patience_ms: 12_000 });
    expect(world.log).toHaveBeenCalledWith("error", "sweep failed", {
      error: expect.stringContaining("the table does not answer"),
    });
  });

  test("begins no sweep after 55 s, however slow the others were", async () => {
    const { ran, took } = await ticked(await withOpenRollout(), { sweepMs: 30_000 });
    const sweeps = ran.filter(([part]) => part === "sweep").map(([, at]) => at);
    expect(sweeps).toEqual([0, 30_000]);
    expect(took).toBe(60_000);
  });
});

test("while an engine is started for ten minutes, a tick goes on sweeping and is heard of", async () => {
  const { published, ran, took } = await ticked(await withOpenRollout({ silent_at: NOW + 10_000_000 }), {
    driveLooks: 10,
  });
  // The drive ends beside, so that one look more may have begun.
  expect(published.slice(0, 10)).toEqual(Array.from({ length: 10 }, (_, minute) => minute * 60_000));
  const sweeps = ran.filter(([part]) => part === "sweep").map(([, at]) => at);
  expect(Math.max(...sweeps.map((at, index) => at - (sweeps[index - 1] ?? 0)))).toBe(20_000);
  expect(took).toBeLessThanOrEqual(660_000);
});

test("a crash is settled within two minutes, once the sweeps of two ticks have seen silence for long enough", async () => {
  const world = await withOpenRollout();
  const began = world.clock.now();
  // Right after it had been looked at, it said that it lives once more; then it died.
  await world.clock.sleep(19_999);
  await ticked(world);
  expect(await world.stands("open")).toMatchObject({ state: "running" });
  await world.clock.sleep(20_000);
  await ticked(world);
  expect(await world.stands("open")).toMatchObject({ state: "waiting", history: [{ reason: "suspected" }] });
  const { history } = await world.stands("open");
  expect((history[0]?.at ?? 0) - began).toBeLessThanOrEqual(80_000);
  expect(world.calls).toEqual([["defer", "receipt-1", 0]]);
});
