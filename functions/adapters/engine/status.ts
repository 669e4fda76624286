/** The engine's status, asked once for everybody who wants to know at the same moment. */
import type { Clock } from "../../core/clock.ts";
import { EngineError } from "../../core/errors.ts";
import { CANNOT_CONNECT, type EngineStatus } from "../../core/protocol.ts";

/** Milliseconds for which a status is not asked again. Source: the reference's `cache_with_ttl(ttl=0.5)`. */
export const STATUS_CACHE_MS = 500;

/** Wraps a status call: never throws, cached on the clock, shared by concurrent callers. */
export function cachedStatus(ask: () => Promise<EngineStatus>, clock: Clock): () => Promise<EngineStatus> {
  let pending: Promise<EngineStatus> | undefined;
  let known: { status: EngineStatus; until: number } | undefined;
  const refresh = async () => {
    const status = await ask().catch(cannotConnect);
    known = { status, until: clock.now() + STATUS_CACHE_MS };
    pending = undefined;
    return status;
  };
  return async () => {
    if (known !== undefined && clock.now() < known.until) return known.status;
    pending ??= refresh();
    return pending;
  };
}

/** The detail says why, in place of the engine's own. */
function cannotConnect(error: unknown): EngineStatus {
  const detail = error instanceof EngineError ? error.message : String(error);
  return { engine_status: CANNOT_CONNECT, engine_status_detail: detail, global_step: null };
}
