import { describe, expect, test } from "vitest";
import { createLeaseStore, tickLease } from "../../../../functions/adapters/table/lease.ts";
import {
  Lease,
  type LeaseStore,
  takeLease,
  withLease,
} from "../../../../functions/core/engine-lifecycle/lease.ts";
import { VirtualClock } from "../../../support/virtual-clock.ts";
import { useTable } from "./engine-table.ts";

const options = useTable();
const TTL = 60_000;
const SKEW = 10_000;
const log = () => undefined;
let names = 0;

/** A lease that no other test has, seen by holders with clocks of their own. */
function shared() {
  names += 1;
  const name = tickLease(`lease-${names}`);
  const leases = createLeaseStore(options());
  const at = (clock: VirtualClock, store: LeaseStore = leases) => ({ clock, leases: store, log });
  const take = (holder: string, clock: VirtualClock) =>
    takeLease(at(clock), { name, holder, ttlMs: TTL, skewMs: SKEW });
  const taken = async (holder: string, clock: VirtualClock) => {
    const lease = await take(holder, clock);
    if (lease instanceof Lease) return lease;
    throw new Error(`expected the lease, found it with ${lease.by}`);
  };
  return { name, leases, at, take, taken };
}

describe("a lease", () => {
  test("is with one holder at a time, and free again when it is given back", async () => {
    const { take, taken } = shared();
    const clock = new VirtualClock();
    const first = await taken("a", clock);
    expect(await take("b", clock)).toEqual({ by: "a" });
    await first.release();
    expect(first.isHeld()).toBe(false);
    const second = await taken("b", clock);
    expect(second.token).toBeGreaterThan(first.token);
  });

  test("is taken from a holder that died, after its time and the clocks' difference", async () => {
    const { take, taken } = shared();
    const clock = new VirtualClock();
    const dead = await taken("a", clock);
    await clock.advance(TTL);
    expect(dead.isHeld()).toBe(false);
    await clock.advance(SKEW);
    expect(await take("b", clock)).toEqual({ by: "a" });
    await clock.advance(1);
    expect((await taken("b", clock)).token).toBeGreaterThan(dead.token);
  });

  test("is never with two whose clocks differ by less than the margin", async () => {
    const { take, taken } = shared();
    const slow = new VirtualClock(1_000_000);
    const fast = new VirtualClock(1_000_000 + SKEW);
    const lease = await taken("slow", slow);
    await Promise.all([slow.advance(TTL - 1), fast.advance(TTL - 1)]);
    expect(lease.isHeld()).toBe(true);
    expect(await take("fast", fast)).toEqual({ by: "slow" });
  });

  test("lasts as long as it is renewed, with the same token", async () => {
    const { take, taken } = shared();
    const clock = new VirtualClock();
    const lease = await taken("a", clock);
    for (let renewals = 0; renewals < 5; renewals += 1) {
      await clock.advance(TTL / 2);
      expect(await lease.renew()).toBe(true);
    }
    expect(lease.isHeld()).toBe(true);
    expect(await take("b", clock)).toEqual({ by: "a" });
  });

  test("can neither be renewed nor given back by who has lost it", async () => {
    const { take, taken } = shared();
    const clock = new VirtualClock();
    const lost = await taken("a", clock);
    await clock.advance(TTL + SKEW + 1);
    const other = await taken("b", clock);
    expect(await lost.renew()).toBe(false);
    expect(lost.isHeld()).toBe(false);
    await lost.release();
    expect(other.isHeld()).toBe(true);
    expect(await take("c", clock)).toEqual({ by: "b" });
  });

  test("has a higher token also after its item is gone", async () => {
    const clock = new VirtualClock();
    const before = await shared().taken("a", clock);
    await clock.advance(1);
    const after = await shared().taken("b", clock);
    expect(after.token).toBeGreaterThan(before.token);
  });

  test("goes to exactly one of fifty who want it at once", async () => {
    const { take } = shared();
    const clock = new VirtualClock();
    const outcomes = await Promise.all(Array.from({ length: 50 }, (_, at) => take(`holder-${at}`, clock)));
    expect(outcomes.filter((outcome) => outcome instanceof Lease)).toHaveLength(1);
  });

  test("goes to exactly one of fifty who want a dead holder's", async () => {
    const { take, taken } = shared();
    const clock = new VirtualClock();
    const dead = await taken("dead", clock);
    await clock.advance(TTL + SKEW + 1);
    const outcomes = await Promise.all(Array.from({ length: 50 }, (_, at) => take(`holder-${at}`, clock)));
    const winners = outcomes.filter((outcome) => outcome instanceof Lease);
    expect(winners).toHaveLength(1);
    expect(winners[0]?.token).toBeGreaterThan(dead.token);
  });

  test("is held after a write whose answer was lost", async () => {
    const { leases, name } = shared();
    const record = { holder: "a", token: 7, expires_at: 1000 };
    expect(await leases.write(name, undefined, record)).toBe(true);
    // As the SDK does when the first answer does not come.
    expect(await leases.write(name, undefined, record)).toBe(true);
    expect(await leases.write(name, undefined, { ...record, holder: "b" })).toBe(false);
  });
});

describe("work under a lease", () => {
  test("keeps it for as long as it lasts, and gives it back", async () => {
    const { name, at, take } = shared();
    const clock = new VirtualClock();
    const finish = Promise.withResolvers<string>();
    const work = withLease(at(clock), { name, holder: "a", ttlMs: TTL, skewMs: SKEW }, () => finish.promise);
    // Renewed over HTTP, so that each third of its time is waited for.
    for (let thirds = 0; thirds < 9; thirds += 1) {
      while (clock.waiting === 0) await new Promise(setImmediate);
      await clock.advance(TTL / 3);
    }
    while (clock.waiting === 0) await new Promise(setImmediate);
    expect(await take("b", clock)).toEqual({ by: "a" });
    finish.resolve("done");
    expect(await work).toEqual({ held: true, value: "done" });
    expect(await take("b", clock)).toBeInstanceOf(Lease);
  });

  test("is not done by who does not get it", async () => {
    const { name, at, taken } = shared();
    const clock = new VirtualClock();
    await taken("a", clock);
    const work = () => Promise.reject(new Error("expected not to be called"));
    expect(await withLease(at(clock), { name, holder: "b" }, work)).toEqual({ held: false, by: "a" });
  });

  test("that throws gives it back as well", async () => {
    const { name, at, take } = shared();
    const clock = new VirtualClock();
    const work = () => Promise.reject(new Error("the work's own"));
    await expect(withLease(at(clock), { name, holder: "a" }, work)).rejects.toThrow("the work's own");
    expect(await take("b", clock)).toBeInstanceOf(Lease);
  });

  test("knows when somebody else has it", async () => {
    const { name, at, leases, taken } = shared();
    const clock = new VirtualClock();
    const held = await withLease(at(clock), { name, holder: "a", ttlMs: TTL }, async (lease) => {
      await leases.write(name, await leases.read(name), {
        holder: "b",
        token: lease.token + 1,
        expires_at: 9,
      });
      await clock.advance(TTL / 3);
      while (lease.isHeld()) await new Promise(setImmediate);
      return "noticed";
    });
    expect(held).toEqual({ held: true, value: "noticed" });
    expect((await leases.read(name))?.holder).toBe("b");
    expect((await taken("c", clock)).token).toBeGreaterThan(0);
  });

  test("outlives a renewal that fails, as long as its time lasts", async () => {
    const { name, at, leases } = shared();
    const clock = new VirtualClock();
    let fails = false;
    const flaky: LeaseStore = {
      read: leases.read,
      write: (...parts) => (fails ? Promise.reject(new Error("throttled")) : leases.write(...parts)),
    };
    await withLease(at(clock, flaky), { name, holder: "a", ttlMs: TTL }, async (lease) => {
      fails = true;
      await clock.advance(TTL / 2);
      expect(lease.isHeld()).toBe(true);
      await clock.advance(TTL / 2);
      expect(lease.isHeld()).toBe(false);
    });
  });
});
