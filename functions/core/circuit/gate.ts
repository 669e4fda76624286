/**
 * Whether a fleet may claim: a pause that somebody asked for, and a circuit that opens when attempts fail one after
 * another. While it is open, one probe at a time goes through, its failure costs its rollout no attempt, and a single
 * successful end closes it again.
 */
import type { Clock } from "../clock.ts";
import { describeError } from "../errors.ts";
import type { Log } from "../log.ts";
import type { Reason } from "../reasons.ts";

export interface Pause {
  readonly at: number;
  readonly why: string;
  /** Absent: a person asked for it. */
  readonly by?: "budget" | undefined;
}

export interface GateState {
  readonly paused?: Pause | undefined;
  /** Failures in a row. */
  readonly failures: number;
  /** Unix ms since when the circuit is open. */
  readonly tripped_at?: number | undefined;
  /** Unix ms from when on the next probe may go. */
  readonly probe_at?: number | undefined;
  /** Who took the last probe: unique to each try, so that it knows its own write again. */
  readonly probe_by?: string | undefined;
  readonly probes: number;
  readonly last_reason?: string | undefined;
  /** Unix ms of the success that ended the last row of failures. */
  readonly succeeded_at?: number | undefined;
}

export interface GateStore {
  read(fleet: string): Promise<GateState>;
  /** Counts one more failure; resolves to the failures in a row. Sent once: an unclear answer may mean that it counts. */
  fail(fleet: string, reason: Reason): Promise<number>;
  /** Opens the circuit, unless it is open. */
  trip(fleet: string, now: number, probeAt: number): Promise<void>;
  /**
   * True for the one caller (`by`, unique to the try) that may probe now: where the probe is due at `dueAt` at the
   * latest. The next one comes at `nextProbeAt`.
   */
  takeProbe(fleet: string, dueAt: number, nextProbeAt: number, by: string): Promise<boolean>;
  /** Undoes `takeProbe`, unless another one has been taken since. */
  giveProbeBack(fleet: string, nextProbeAt: number, now: number): Promise<void>;
  /** Ends the row of failures, and closes the circuit. */
  reset(fleet: string, succeededAt?: number): Promise<void>;
  /** A person's wish, which overrules the budget. */
  setPaused(fleet: string, pause: Pause | undefined): Promise<void>;
  /** The budget's; false, and nothing changed, where a person has paused the fleet. */
  setBudgetPause(fleet: string, pause: (Pause & { by: "budget" }) | undefined): Promise<boolean>;
}

/** Failures in a row that open the circuit. More than one batch of a default invocation. */
export const FAILURES_TO_TRIP = 12;
/** The first probe comes so long after the circuit opened, each further one after twice as long, up to the longest. */
const PROBE_MS = 15_000;
const LONGEST_PROBE_MS = 300_000;
/** A pause takes effect within 10 s: the state is read at most so long after it changed. */
const FRESH_MS = 5000;

/** Not the fault of agent or infrastructure: the engine's own course, or the agent's wish. */
const neutral: ReadonlySet<Reason> = new Set([
  "engine-left-rolling",
  "straggler",
  "disturbed",
  "agent-aborted",
  "agent-discarded",
  "agent-busy",
  "unknown",
  "training-lost",
  "invalid-message",
]);

/** The one attempt that goes through an open circuit. */
export interface Probe {
  /** It came to no attempt, so somebody else may try at once. */
  giveBack(): Promise<void>;
}

export type GateDecision =
  | { open: true; probe?: Probe }
  | { open: false; reason: "paused" | "circuit-open" | "fenced"; seconds: number; detail: string };

export class FleetGate {
  readonly #ports: { clock: Clock; log: Log; gates: GateStore };
  readonly #fleet: string;
  #state: GateState = { failures: 0, probes: 0 };
  readonly #crashed = new Set<string>();
  #readAt = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> | undefined;

  constructor(ports: { clock: Clock; log: Log; gates: GateStore }, fleet: string) {
    this.#ports = ports;
    this.#fleet = fleet;
  }

  /** Asked before each claim. A gate that cannot be read is open: the table's trouble shows at the next write. */
  async check(): Promise<GateDecision> {
    await this.#refresh();
    const { paused, tripped_at: tripped, probe_at: probeAt = 0, probes, last_reason: reason } = this.#state;
    if (paused) return { open: false, reason: "paused", seconds: 60, detail: paused.why };
    if (tripped === undefined) return { open: true };
    const now = this.#ports.clock.now();
    const probe = this.#isDue(now) ? await this.#takeProbe(now, probes) : undefined;
    if (probe) return { open: true, probe };
    const seconds = Math.max(5, Math.ceil((probeAt - now) / 1000));
    return { open: false, reason: "circuit-open", seconds, detail: `the last attempts failed: ${reason}` };
  }

  /** A rollout may wait for minutes between passing and claiming; a pause takes effect meanwhile. */
  async closedFor(probe: Probe | undefined): Promise<string | undefined> {
    await this.#refresh();
    if (this.#state.paused) return this.#state.paused.why;
    return this.#tripped && !probe ? "the circuit is open" : undefined;
  }

  /** Not older than a few seconds: an invocation may outlive the circuit's state by minutes. */
  async isTripped(): Promise<boolean> {
    await this.#refresh();
    return this.#tripped;
  }

  async isProbeDue(): Promise<boolean> {
    await this.#refresh();
    return this.#tripped && this.#state.paused === undefined && this.#isDue(this.#ports.clock.now());
  }

  /** Far in the future is another machine's clock going wrong: it must not keep the circuit open for longer. */
  #isDue(now: number): boolean {
    const { probe_at: probeAt = 0 } = this.#state;
    return now >= probeAt || probeAt - now > LONGEST_PROBE_MS;
  }

  get #tripped(): boolean {
    return this.#state.tripped_at !== undefined;
  }

  /**
   * Told how each attempt ended. `failedAt` (unix ms): when an attempt of the same rollout failed first. A rollout that
   * failed before others succeeded, and fails again, says nothing about agent or infrastructure: otherwise the circuit
   * would open as soon as only such rollouts are left, and they would never come to their end.
   */
  async note(reason: Reason, invocation = "", failedAt = Number.POSITIVE_INFINITY): Promise<void> {
    // A process that dies takes a whole batch with it: that is one failure.
    const crashed = reason === "crashed" || reason === "suspected";
    if (crashed && this.#crashed.has(invocation)) return;
    if (crashed && invocation !== "") this.#crashed.add(invocation);
    try {
      if (reason === "ended") await this.#succeeded();
      else if (!neutral.has(reason)) await this.#failed(reason, failedAt);
    } catch (error) {
      this.#ports.log("warn", "circuit not updated", { error: describeError(error, 300) });
    }
  }

  async #succeeded(): Promise<void> {
    await this.#refresh();
    if (this.#state.failures === 0 && !this.#tripped) return;
    if (this.#tripped) this.#ports.log("info", "circuit closed", { fleet: this.#fleet });
    const succeeded_at = this.#ports.clock.now();
    await this.#ports.gates.reset(this.#fleet, succeeded_at);
    const closed = { failures: 0, probes: 0, tripped_at: undefined, probe_at: undefined };
    this.#state = { ...this.#state, ...closed, succeeded_at };
  }

  async #failed(reason: Reason, failedAt: number): Promise<void> {
    await this.#refresh();
    if (failedAt <= (this.#state.succeeded_at ?? 0)) return;
    const failures = await this.#ports.gates.fail(this.#fleet, reason);
    this.#state = { ...this.#state, failures, last_reason: reason };
    if (failures < FAILURES_TO_TRIP || this.#tripped) return;
    const now = this.#ports.clock.now();
    await this.#ports.gates.trip(this.#fleet, now, now + PROBE_MS);
    this.#state = { ...this.#state, tripped_at: now, probe_at: now + PROBE_MS };
    this.#ports.log("error", "circuit opened: the fleet slows down", {
      fleet: this.#fleet,
      failures,
      reason,
    });
  }

  async #takeProbe(now: number, probes: number): Promise<Probe | undefined> {
    const next = now + Math.min(PROBE_MS * 2 ** (probes + 1), LONGEST_PROBE_MS);
    const { gates, log } = this.#ports;
    const taken = await gates.takeProbe(this.#fleet, now, next, crypto.randomUUID()).catch(() => false);
    this.#state = { ...this.#state, probe_at: next };
    if (!taken) return undefined;
    return {
      giveBack: async () => {
        await gates
          .giveProbeBack(this.#fleet, next, this.#ports.clock.now())
          .catch((error) => log("warn", "probe not given back", { error: describeError(error, 300) }));
        this.#readAt = Number.NEGATIVE_INFINITY;
      },
    };
  }

  async #refresh(): Promise<void> {
    if (this.#ports.clock.now() - this.#readAt < FRESH_MS) return;
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    await this.#reading;
  }

  async #read(): Promise<void> {
    try {
      this.#state = await this.#ports.gates.read(this.#fleet);
      this.#readAt = this.#ports.clock.now();
    } catch (error) {
      this.#ports.log("warn", "gate could not be read", { error: describeError(error, 300) });
    }
  }
}

/** What is told how each attempt of a fleet ended; see `FleetGate`. */
export interface Gate {
  /** While attempts fail one after another, a further failure costs its rollout nothing. */
  isTripped(): Promise<boolean>;
  /** `invocation`: the one that ran the attempt; `failedAt`: when an earlier attempt of its rollout failed first, unix ms. */
  note(reason: Reason, invocation?: string, failedAt?: number): Promise<void>;
  check(): Promise<GateDecision>;
  /** Asked again before each claim: why this rollout, which had passed, may not claim after all. */
  closedFor(probe: Probe | undefined): Promise<string | undefined>;
  /** Whether the circuit is open and somebody should try. */
  isProbeDue(): Promise<boolean>;
}
