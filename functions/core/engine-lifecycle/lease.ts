/**
 * A lease that one process holds at a time, with a fencing token. Not a lock: a holder that sleeps for too long loses it
 * without noticing, so every write it makes names its token, and a write with a lower token than the last is refused.
 *
 *     holder A   |---- held until expires_at ----|
 *     holder B                                     skew | may take it, with a higher token
 */
import * as z from "zod";
import type { Clock } from "../clock.ts";
import { describeError } from "../errors.ts";
import type { Log } from "../log.ts";

export const leaseSchema = z.object({
  holder: z.string(),
  token: z.number(),
  /** Unix ms; 0 once it was given back. */
  expires_at: z.number(),
});
export type LeaseRecord = z.infer<typeof leaseSchema>;

export interface LeaseStore {
  read(name: string): Promise<LeaseRecord | undefined>;
  /** Writes `next` if exactly `left` still stands (`undefined`: nothing); false where it does not. */
  write(name: string, previous: LeaseRecord | undefined, next: LeaseRecord): Promise<boolean>;
}

/** What a holder has in its hands. */
export interface HeldLease {
  readonly token: number;
  /** By this process's clock. Ask right before each act that no condition guards. */
  isHeld(): boolean;
}

export interface LeaseOptions {
  readonly name: string;
  /** Unique to this holder: the invocation's id. */
  readonly holder: string;
  /** Milliseconds; renewed at every third of it. Short, so that a crash holds nobody up for long. */
  readonly ttlMs?: number;
  /** Milliseconds by which clocks may differ. */
  readonly skewMs?: number;
}
export const LEASE_TTL_MS = 60_000;
export const LEASE_SKEW_MS = 10_000;

export interface LeasePorts {
  readonly clock: Clock;
  readonly leases: LeaseStore;
  readonly log: Log;
}

/**
 * Runs `work` under the lease and gives it back afterwards. A lease that somebody else holds is not waited for:
 * `held: false` says who has it, and the next tick comes anyhow.
 */
export async function withLease<T>(
  ports: LeasePorts,
  options: LeaseOptions,
  work: (lease: HeldLease) => Promise<T>,
): Promise<{ held: true; value: T } | { held: false; by: string }> {
  const lease = await takeLease(ports, options);
  if (!(lease instanceof Lease)) return { held: false, by: lease.by };
  const done = new AbortController();
  const keeping = keep(lease, ports.clock, done.signal);
  try {
    return { held: true, value: await work(lease) };
  } finally {
    done.abort();
    await keeping;
    await lease.release();
  }
}

/** The lease, or who has it. Never waits. */
export async function takeLease(ports: LeasePorts, options: LeaseOptions): Promise<Lease | { by: string }> {
  const { clock, leases } = ports;
  const { name, holder, ttlMs = LEASE_TTL_MS, skewMs = LEASE_SKEW_MS } = options;
  const previous = await leases.read(name);
  const now = clock.now();
  if (previous !== undefined && previous.expires_at !== 0 && now <= previous.expires_at + skewMs)
    return { by: previous.holder };
  const next = { holder, token: nextToken(previous, now), expires_at: now + ttlMs };
  if (await leases.write(name, previous, next)) return new Lease(ports, { name, ttlMs, record: next });
  return { by: (await leases.read(name))?.holder ?? "somebody else" };
}

/** Rises also where the item of the last holder is gone: it then is the time. */
function nextToken(previous: LeaseRecord | undefined, now: number): number {
  return Math.max((previous?.token ?? 0) + 1, now);
}

export class Lease implements HeldLease {
  readonly token: number;
  readonly ttlMs: number;
  readonly #name: string;
  readonly #ports: LeasePorts;
  #record: LeaseRecord;
  #lost = false;

  constructor(ports: LeasePorts, held: { name: string; ttlMs: number; record: LeaseRecord }) {
    this.#ports = ports;
    this.#name = held.name;
    this.ttlMs = held.ttlMs;
    this.#record = held.record;
    this.token = held.record.token;
  }

  isHeld(): boolean {
    return !this.#lost && this.#ports.clock.now() < this.#record.expires_at;
  }

  /** False once somebody else has it. A write that fails otherwise changes nothing: it is tried again. */
  async renew(): Promise<boolean> {
    const next = { ...this.#record, expires_at: this.#ports.clock.now() + this.ttlMs };
    try {
      if (await this.#ports.leases.write(this.#name, this.#record, next)) this.#record = next;
      else this.#lost = true;
    } catch (error) {
      this.#ports.log("warn", "the lease could not be renewed", { error: describeError(error, 300) });
    }
    return !this.#lost;
  }

  /** Lets the next one have it at once. The token stays, so that the next one is higher. */
  async release(): Promise<void> {
    if (this.#lost) return;
    this.#lost = true;
    try {
      await this.#ports.leases.write(this.#name, this.#record, { ...this.#record, expires_at: 0 });
    } catch (error) {
      this.#ports.log("warn", "the lease could not be given back; it expires", {
        error: describeError(error, 300),
      });
    }
  }
}

async function keep(lease: Lease, clock: Clock, done: AbortSignal): Promise<void> {
  try {
    do await clock.sleep(lease.ttlMs / 3, done);
    while (await lease.renew());
  } catch (error) {
    if (!done.aborted) throw error;
  }
}
