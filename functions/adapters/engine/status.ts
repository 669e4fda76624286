/** The engine's status, asked once for everybody who wants to know at the same moment. */
import type { Clock } from "../../core/clock.ts";
import { EngineError } from "../../core/errors.ts";
import { CANNOT_CONNECT, type EngineStatus } from "../../core/protocol.ts";

/** Milliseconds for which a status is not asked again. Source: the reference's `cache_with_ttl(ttl=0.5)`. */
export const STATUS_CACHE_MS = 500;

/** A pending answer is not waited for longer, ms: its call has given up, or the process was frozen meanwhile. */
export const STALE_MS = 10_000;

interface Asked {
  /** Unix ms. */
  readonly at: number;
  readonly status: Promise<EngineStatus>;
  /** Unix ms until which nobody asks again; undefined while the answer is pending. */
  until: number | undefined;
}

/**
 * Wraps a status call: never throws, cached on the clock, shared by concurrent callers. An answer counts from when it was
 * asked for: a function that was frozen in between does not take it for today's. While the answer asks for patience
 * (`retry-after`), nobody asks again.
 */
export function cachedStatus(ask: () => Promise<EngineStatus>, clock: Clock): () => Promise<EngineStatus> {
  let last: Asked | undefined;
  const refresh = (): Asked => {
    const asked: Asked = {
      at: clock.now(),
      until: undefined,
      status: ask().then(
        (status) => {
          asked.until = Math.min(clock.now(), asked.at + STALE_MS) + STATUS_CACHE_MS;
          return status;
        },
        (error: unknown) => {
          const told = error instanceof EngineError ? (error.retryAfterMs ?? 0) : 0;
          asked.until = clock.now() + Math.max(STATUS_CACHE_MS, Math.min(told, LONGEST_SILENCE_MS));
          return cannotConnect(error);
        },
      ),
    };
    return asked;
  };
  return () => {
    if (last === undefined || clock.now() >= (last.until ?? last.at + STALE_MS)) last = refresh();
    return last.status;
  };
}

/** Running episodes must learn within a minute that the engine has left its rolling states, whatever a limiter asks for. */
const LONGEST_SILENCE_MS = 60_000;

/** The detail says why, in place of the engine's own. */
function cannotConnect(error: unknown): EngineStatus {
  const detail = error instanceof EngineError ? error.message : String(error);
  return { engine_status: CANNOT_CONNECT, engine_status_detail: detail, global_step: null };
}
