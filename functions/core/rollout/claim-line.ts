/**
 * Where the rollouts of one invocation wait for an episode together, so that a free one is claimed within a second, and
 * one of them asks the engine for all:
 *
 * - while the engine is about to roll they share one look at its status a second;
 * - when it rolls, and after "No available episodes", they stand in line. The first one asks after a quarter of a second,
 *   then after twice as long each time. One that is granted lets the next two ask at once, so that a line of a hundred
 *   is served in seven rounds, and the first refusal stops it;
 * - an episode that ended here gives a slot back: the first one asks again in a quarter of a second.
 *
 * So an invocation makes at most four claims a second that are refused, and one in two seconds while the engine is full.
 * Any other trouble has the reference's delays.
 */
import type { Clock } from "../clock.ts";

/** Between two looks at an engine that will roll soon. */
const LOOK_MS = 1000;
/** Before the first in line asks; doubles up to the longest, which is the reference's delay. */
const FIRST_ASK_MS = 250;
const LONGEST_ASK_MS = 2000;
/** An engine that has begun to roll offers its slots about a second later. */
const BEGINNING_MS = 3000;
/** How many go on when one has been granted. */
const FOLLOWERS = 2;

export class ClaimLine {
  readonly #clock: Clock;
  readonly #began: number;
  #line: (() => void)[] = [];
  #serving = false;
  #askMs = FIRST_ASK_MS;
  /** Unix ms when the first in line asks. */
  #dueAt = 0;
  #rolledAt = Number.NEGATIVE_INFINITY;
  #sooner = new AbortController();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#began = clock.now();
  }

  /** Milliseconds until the next look at the status that all who wait for ROLLING take together. */
  untilLook(): number {
    return LOOK_MS - ((this.#clock.now() - this.#began) % LOOK_MS);
  }

  /** Resolves when it is this rollout's turn to ask, at `until` (unix ms), or when the signal fires. */
  async turn(until: number, signal: AbortSignal | undefined): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#line.push(resolve);
    this.#serve();
    const over = new AbortController();
    const leave = signal ? AbortSignal.any([signal, over.signal]) : over.signal;
    const late = this.#clock.sleep(Math.max(0, until - this.#clock.now()), leave).catch(() => undefined);
    await Promise.race([promise, late]);
    over.abort();
    this.#line = this.#line.filter((other) => other !== resolve);
  }

  /** The engine has begun to roll. */
  rolled(): void {
    this.#rolledAt = this.#clock.now();
    this.#askSoon();
  }

  /** Nobody can claim now: all look at the engine's status again. */
  notRolling(): void {
    this.#goOn(this.#line.length);
  }

  granted(): void {
    this.#askSoon();
    this.#goOn(FOLLOWERS);
  }

  /** An episode of this invocation has ended. */
  ended(): void {
    this.#askSoon();
  }

  #askSoon(): void {
    this.#askMs = FIRST_ASK_MS;
    this.#dueAt = Math.min(this.#dueAt, this.#clock.now() + FIRST_ASK_MS);
    this.#sooner.abort();
  }

  #goOn(count: number): void {
    for (const goOn of this.#line.splice(0, count)) goOn();
  }

  #serve(): void {
    if (this.#serving) return;
    this.#serving = true;
    void this.#serveInTurn();
  }

  async #serveInTurn(): Promise<void> {
    while (this.#line.length > 0) {
      this.#dueAt = this.#clock.now() + this.#askMs;
      await this.#sleepUntilDue();
      const begins = this.#clock.now() - this.#rolledAt < BEGINNING_MS;
      this.#askMs = begins ? FIRST_ASK_MS : Math.min(this.#askMs * 2, LONGEST_ASK_MS);
      this.#goOn(1);
    }
    this.#serving = false;
  }

  /** What happens meanwhile may bring the time forward. */
  async #sleepUntilDue(): Promise<void> {
    for (let ms = this.#msLeft(); ms > 0 && this.#line.length > 0; ms = this.#msLeft()) {
      this.#sooner = new AbortController();
      await this.#clock.sleep(ms, this.#sooner.signal).catch(() => undefined);
    }
  }

  #msLeft(): number {
    return this.#dueAt - this.#clock.now();
  }
}
