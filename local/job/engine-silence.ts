/** Tells the user, once in a while, that the engine does not answer, and why. */
import type { Engine } from "../../functions/core/engine.ts";
import { describeError } from "../../functions/core/errors.ts";
import { CANNOT_CONNECT } from "../../functions/core/protocol.ts";

/** An engine may be restarting; one that is silent for longer is worth a word. */
const FIRST_WORD_MS = 5000;
const NEXT_WORD_MS = 60_000;

export class EngineSilence {
  readonly #engine: Engine;
  #since: number | undefined;
  #nextAt = 0;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** What to tell the user now, if anything. `now` is unix ms. */
  async note(status: string, now: number): Promise<string | undefined> {
    if (status !== CANNOT_CONNECT) {
      this.#since = undefined;
      return undefined;
    }
    if (this.#since === undefined) {
      this.#since = now;
      this.#nextAt = now + FIRST_WORD_MS;
    }
    if (now < this.#nextAt) return undefined;
    this.#nextAt = now + NEXT_WORD_MS;
    const seconds = Math.round((now - this.#since) / 1000);
    // A status tells only that it cannot be had; this call says why.
    const why = await this.#engine.pool().then(
      () => "it answers again",
      (error) => describeError(error, 500),
    );
    return `${this.#engine.url} is no engine that answers, for ${seconds} s now: ${why}. Waiting; Ctrl-C stops.`;
  }
}
