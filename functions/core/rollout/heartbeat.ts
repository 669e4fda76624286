/**
 * A living invocation says so in the table, with all that must be cleared away if it dies. It judges nobody by another
 * machine's clock: only the sweep declares an invocation dead, after it has seen no change for long enough by its own.
 */

import type { Gate, GateDecision } from "../circuit/gate.ts";
import type { Clock } from "../clock.ts";
import { describeError } from "../errors.ts";
import type { Log } from "../log.ts";
import type { Queue } from "../queue.ts";
import { dayOf, type Usage, type UsageStore } from "../spend/spend.ts";
import type { Invocation, InvocationStore } from "./invocation.ts";

/** How often a living invocation says so. */
export const HEARTBEAT_SECONDS = 20;
/** Silence of so many heartbeats is death: more than one missed sign, and time to repeat those that failed. */
const SILENCE_FACTOR = 2.5;
/** A sign that failed is repeated after so long, or after a quarter of a heartbeat if that is less. */
const REPEAT_MS = 3000;
/** By how much the clocks of two machines may differ. */
export const CLOCK_SKEW_MS = 300_000;
/** An item holds 400 kB; receipts beyond this come back with their visibility timeout instead. */
const MOST_RECEIPT_CHARACTERS = 300_000;
/** How long a message whose fleet's gate is closed stays hidden if nobody shows it before. SQS's limit is 12 h. */
export const PARK_SECONDS = 7200;
/** … and one that nobody would show. */
const UNPARKED_SECONDS = 60;

export async function isAlive(
  ports: { invocations: Pick<InvocationStore, "read"> },
  id: string,
  now: number,
): Promise<boolean> {
  return isLiving(await ports.invocations.read(id), now);
}

/** `now` may be another machine's. */
export function isLiving(invocation: Invocation | undefined, now: number): invocation is Invocation {
  if (invocation?.dead_at !== undefined || invocation?.ended_at !== undefined) return false;
  return invocation !== undefined && now < invocation.ends_at + CLOCK_SKEW_MS;
}

/** Milliseconds without a change after which the invocation is dead. Both times are of its own clock. */
export function silenceOf({ alive_at, silent_at }: Invocation): number {
  return silent_at - alive_at;
}

export interface LifePorts {
  readonly clock: Clock;
  readonly invocations: InvocationStore;
  readonly usage: Pick<UsageStore, "add">;
  readonly queue: Pick<Queue, "defer" | "show">;
  readonly gate: Gate;
  readonly log: Log;
}

export interface Self {
  readonly id: string;
  readonly fleet: string;
  /** Unix ms when the function's time is up. */
  readonly endsAt: number;
  readonly memoryMb: number;
  readonly heartbeatSeconds: number;
  /** Of the messages that it began with. */
  readonly receipts: readonly string[];
}

/** The signs of life of this invocation, from its begin to its end. */
export class SignsOfLife {
  readonly #ports: LifePorts;
  readonly #self: Self;
  readonly #began: number;
  readonly #waiting: Set<string>;
  readonly #parked = new Set<string>();
  readonly #stop = new AbortController();
  #beating: Promise<void> | undefined;
  #saying: Promise<unknown> = Promise.resolve();
  #lastBeat = 0;
  #deliveries: number;
  #attempts = 0;
  #fenced = false;

  constructor(ports: LifePorts, self: Self) {
    this.#ports = ports;
    this.#self = self;
    this.#began = ports.clock.now();
    this.#waiting = new Set(bounded(self.receipts));
    this.#deliveries = self.receipts.length;
  }

  /** @throws what the store throws: who cannot say that it lives does not begin. */
  async begin(): Promise<void> {
    await this.#ports.invocations.alive(this.#item());
    this.#beating = this.#beat();
  }

  /** It was declared dead: its episodes are others' to settle, and it claims no more. */
  get isFenced(): boolean {
    return this.#fenced;
  }

  countAttempt(): void {
    this.#attempts += 1;
  }

  /** Further messages are its own once this resolves. @throws what the store throws */
  async received(receipts: readonly string[]): Promise<void> {
    for (const receipt of bounded([...this.#waiting, ...receipts])) this.#waiting.add(receipt);
    this.#deliveries += receipts.length;
    await this.#say();
  }

  /** The message is deleted or put off: nobody needs to show it. */
  disposed(receipt: string): void {
    this.#waiting.delete(receipt);
  }

  /** The message may be hidden for `PARK_SECONDS`: it is shown when the gate opens. False where nobody would do so. */
  park(receipt: string): boolean {
    if (this.#fenced || !this.#waiting.delete(receipt)) return false;
    this.#parked.add(receipt);
    return true;
  }

  /** Takes the item away, or leaves the parked messages in it; adds what was used to the fleet's usage. */
  async end(): Promise<void> {
    this.#stop.abort();
    // A sign of life under way must not land after the invocation's item is gone.
    await this.#beating;
    const { id, fleet } = this.#self;
    const { clock, usage, log } = this.#ports;
    const previous = this.#fenced ? false : await this.#leave().catch((error) => this.#failed(error));
    if (!previous) await this.#unpark();
    // Whoever took the item away counts it: a fenced one has been counted by the sweep.
    if (!(previous || (!this.#fenced && (await this.#ports.invocations.done(id).catch(() => false))))) return;
    await usage
      .add(fleet, dayOf(clock.now()), this.#used(clock.now()))
      .catch((error) => log("warn", "usage not noted", { error: describeError(error, 300) }));
  }

  /** True where the parked messages are written down, without what the usage counts from here on. */
  async #leave(): Promise<boolean> {
    if (this.#parked.size === 0) return false;
    const { used, waiting, ...item } = this.#item();
    return await this.#ports.invocations.beat({ ...item, ended_at: this.#ports.clock.now() });
  }

  async #beat(): Promise<void> {
    const heartbeatMs = this.#self.heartbeatSeconds * 1000;
    const { clock } = this.#ports;
    const { signal } = this.#stop;
    for (let pause = heartbeatMs; !this.#fenced; ) {
      await clock.sleep(pause, signal).catch(() => undefined);
      if (signal.aborted) return;
      const said = await this.#say().catch((error) => this.#failed(error));
      pause = said ? heartbeatMs : Math.min(REPEAT_MS, heartbeatMs / 4);
    }
  }

  /** One after the other: an older sign that lands late would take back what a newer one lists. */
  #say(): Promise<boolean> {
    const said = this.#saying.catch(() => undefined).then(() => this.#sayNow());
    this.#saying = said;
    return said;
  }

  async #sayNow(): Promise<boolean> {
    await this.#showIfOpen();
    if (!(await this.#ports.invocations.beat(this.#item()))) {
      this.#fenced = true;
      this.#ports.log("error", "this invocation was declared dead: it claims no more");
    }
    return true;
  }

  /** The gate has opened while this invocation still runs other rollouts. */
  async #showIfOpen(): Promise<void> {
    if (this.#parked.size === 0 || (await this.#ports.gate.closedFor(undefined)) !== undefined) return;
    await this.#ports.queue.show([...this.#parked]);
    this.#parked.clear();
  }

  async #unpark(): Promise<void> {
    const { queue, log } = this.#ports;
    const put = [...this.#parked].map((receipt) => queue.defer(receipt, UNPARKED_SECONDS));
    for (const outcome of await Promise.allSettled(put))
      if (outcome.status === "rejected")
        log("warn", "message not shown", { error: describeError(outcome.reason, 300) });
    this.#parked.clear();
  }

  #failed(error: unknown): false {
    this.#ports.log("warn", "heartbeat failed", { error: describeError(error) });
    return false;
  }

  #item(): Invocation {
    const { id, fleet, endsAt, heartbeatSeconds } = this.#self;
    const now = this.#ports.clock.now();
    // Each sign differs from the one before, whatever the clock does.
    this.#lastBeat = Math.max(now, this.#lastBeat + 1);
    return {
      id,
      fleet,
      alive_at: this.#lastBeat,
      silent_at: this.#lastBeat + heartbeatSeconds * 1000 * SILENCE_FACTOR,
      ends_at: endsAt,
      ...(this.#waiting.size > 0 ? { waiting: [...this.#waiting] } : {}),
      ...(this.#parked.size > 0 ? { parked: [...this.#parked] } : {}),
      // If this is its last sign, it will have lived until about the next.
      used: this.#used(Math.min(now + heartbeatSeconds * 1000, endsAt)),
    };
  }

  #used(until: number): Usage {
    const { memoryMb } = this.#self;
    const seconds = Math.max(0, until - this.#began) / 1000;
    const gb_seconds = (seconds * memoryMb) / 1024;
    return { gb_seconds, invocations: 1, deliveries: this.#deliveries, attempts: this.#attempts };
  }
}

function bounded(receipts: readonly string[]): string[] {
  let characters = 0;
  return receipts.filter((receipt) => {
    characters += receipt.length;
    return characters <= MOST_RECEIPT_CHARACTERS;
  });
}

/** The fleet's gate, which is closed to an invocation that was declared dead. */
export function fencedGate(gate: Gate, life: Pick<SignsOfLife, "isFenced">): Gate {
  const closed: GateDecision = { open: false, reason: "fenced", seconds: 5, detail: FENCED };
  return {
    isTripped: () => gate.isTripped(),
    note: (reason, invocation, failedAt) => gate.note(reason, invocation, failedAt),
    check: async () => (life.isFenced ? closed : await gate.check()),
    closedFor: async (probe) => (life.isFenced ? FENCED : await gate.closedFor(probe)),
    isProbeDue: () => gate.isProbeDue(),
  };
}
const FENCED = "this invocation was declared dead";
