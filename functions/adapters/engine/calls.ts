/** How a call of the protocol is made: time limit, retries of a GET, and what became of it. */
import type { Dispatcher } from "undici";
import type { z } from "zod";
import type { Clock } from "../../core/clock.ts";
import type { CallOptions } from "../../core/engine.ts";
import { readAnswer, transportFailure } from "./answers.ts";
import { exchange, type HttpReply, withDeadline } from "./exchange.ts";

/** Milliseconds that a call may take in all, retries included. Beside each: what asks for it. */
export const callTimeouts = {
  get_engine_status: 10_000, // reference
  get_current_batch_rollout_pool_information: 10_000, // reference
  can_continue_episode: 10_000, // reference
  get_episode_buffer: 10_000, // reference
  claim_episode: 30_000, // reference
  // The engine waits up to 300 s for the trainer; the reference gives up after 30 s and then knows nothing.
  end_episode: 330_000,
  abort_episode: 330_000,
  sync_train_config: 30_000, // reference
  start_engine: 600_000, // reference
  stop_engine: 600_000, // reference
  sync_train_code: 120_000, // megabytes, written to the engine's disk before it answers
  get_server_experiment_dir: 10_000, // as the other readings
  push_verbose_log: 10_000,
  get_verbose_logs: 10_000,
  agree_sync_weight: 30_000,
} as const satisfies Record<string, number>;

export type CallName = keyof typeof callTimeouts;
export type Timeouts = Readonly<Record<CallName, number>>;

/** Milliseconds before a failed GET is tried again. */
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
  /** A body of bytes goes out as a zip, any other as JSON. */
  post<T>(name: CallName, body: object | Uint8Array, schema: z.ZodType<T>, options?: CallOptions): Promise<T>;
}

/** Both throw `EngineError`. A GET is tried again on a broken connection, 429 and 5xx; a POST never. */
export function createCaller(options: CallerOptions): Caller {
  const once = async (name: CallName, body: object | undefined, signal: AbortSignal): Promise<HttpReply> => {
    const url = `${options.url}/${name}`;
    try {
      const method = body === undefined ? "GET" : "POST";
      return await exchange(options.dispatcher, { method, url, body, signal });
    } catch (error) {
      throw transportFailure(name, options.url, error);
    }
  };

  const patiently = async (name: CallName, signal: AbortSignal, retries: number): Promise<HttpReply> => {
    try {
      const reply = await once(name, undefined, signal);
      if (retries === 0 || !isPassing(reply.status)) return reply;
    } catch (error) {
      if (retries === 0 || signal.aborted) throw error;
    }
    await pause(options.clock, signal);
    return patiently(name, signal, retries - 1);
  };

  return {
    get: (name, schema) =>
      withDeadline(options.timeouts[name], undefined, async (signal) =>
        readAnswer(name, options.url, await patiently(name, signal, options.getRetries), schema),
      ),
    post: (name, body, schema, call = {}) =>
      withDeadline(call.timeoutMs ?? options.timeouts[name], call.signal, async (signal) =>
        readAnswer(name, options.url, await once(name, body, signal), schema),
      ),
  };
}

function isPassing(status: number): boolean {
  return status === 429 || status >= 500;
}

/** Ends early when the call's time is over: the next try then says so, without sending anything. */
async function pause(clock: Clock, signal: AbortSignal): Promise<void> {
  await clock.sleep(RETRY_PAUSE_MS, signal).catch(() => {});
}
