/** How a call of the protocol is made: time limit, retries of a GET, and what became of it. */
import type { Dispatcher } from "undici";
import type { z } from "zod";
import type { Clock } from "../../core/clock.ts";
import type { CallOptions } from "../../core/engine.ts";
import { EngineError } from "../../core/errors.ts";
import { readAnswer, transportFailure } from "./answers.ts";
import type { CallName, Timeouts } from "./call-names.ts";
import { exchange, withDeadline } from "./exchange.ts";

/** Milliseconds before a failed reading is tried again. */
export const RETRY_PAUSE_MS = 500;

export interface CallerOptions {
  readonly url: string;
  readonly clock: Clock;
  readonly dispatcher: Dispatcher;
  readonly timeouts: Timeouts;
  readonly getRetries: number;
}
export interface Caller {
  get<T>(name: CallName, schema: z.ZodType<T>): Promise<T>;
  /** A POST that changes nothing, tried again as a GET is. */
  ask<T>(name: CallName, body: object, schema: z.ZodType<T>): Promise<T>;
  /** A body of bytes goes out as a zip, any other as JSON. */
  post<T>(name: CallName, body: object | Uint8Array, schema: z.ZodType<T>, options?: CallOptions): Promise<T>;
}

interface Reading<T> {
  readonly name: CallName;
  readonly body: object | undefined;
  readonly schema: z.ZodType<T>;
  readonly signal: AbortSignal;
  /** Unix ms when the call's time is over. */
  readonly until: number;
}

/**
 * All throw `EngineError`. A reading is tried again after a pause, or when the answer says, where its failure may pass: a
 * broken connection, 429, 5xx, a 200 that is not what the call answers. What changes something is sent once.
 */
export function createCaller(options: CallerOptions): Caller {
  const { clock, timeouts } = options;
  const once = async <T>({ name, body, signal, schema }: Omit<Reading<T>, "until">): Promise<T> => {
    const url = `${options.url}/${name}`;
    const method = body === undefined ? "GET" : "POST";
    const reply = await exchange(options.dispatcher, { method, url, body, signal }).catch((error) => {
      throw transportFailure(name, options.url, error);
    });
    return readAnswer(name, options.url, reply, schema);
  };

  const patiently = async <T>(reading: Reading<T>, retries: number): Promise<T> => {
    try {
      return await once(reading);
    } catch (error) {
      const pauseMs = pauseAfter(error);
      const over = reading.signal.aborted || clock.now() + pauseMs >= reading.until;
      if (retries === 0 || over) throw error;
      // Ends early when the call's time is over: the next try then says so, without sending anything.
      await clock.sleep(pauseMs, reading.signal).catch(() => {});
    }
    return await patiently(reading, retries - 1);
  };

  const read = <T>(name: CallName, body: object | undefined, schema: z.ZodType<T>) =>
    withDeadline(timeouts[name], undefined, (signal) =>
      patiently({ name, body, schema, signal, until: clock.now() + timeouts[name] }, options.getRetries),
    );

  return {
    get: (name, schema) => read(name, undefined, schema),
    ask: read,
    post: (name, body, schema, call = {}) =>
      withDeadline(call.timeoutMs ?? timeouts[name], call.signal, (signal) =>
        once({ name, body, schema, signal }),
      ),
  };
}

/** Milliseconds before a reading is tried again; infinite where another try would say the same. */
function pauseAfter(error: unknown): number {
  if (!(error instanceof EngineError)) return Number.POSITIVE_INFINITY;
  const { status, retryAfterMs } = error;
  const passes = status === undefined || status === 200 || status === 429 || status >= 500;
  return passes ? Math.max(RETRY_PAUSE_MS, retryAfterMs ?? 0) : Number.POSITIVE_INFINITY;
}
