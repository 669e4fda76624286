/** What a look at the engine changes in the record, whatever is wanted. Pure. */

import { CANNOT_CONNECT, type EngineStatus, type PoolInformation } from "../protocol.ts";
import type { LifecycleSettings, Observed } from "./engine-state.ts";

/** One look at the engine. */
export interface Look {
  /** Unix ms. */
  readonly now: number;
  readonly status: EngineStatus;
  /** Null where the pool could not be read, or was not asked for. */
  readonly pool: PoolInformation | null;
  /** Rollouts that wait or run, over the fleets that are not paused; null where that is not known. */
  readonly waiting: number | null;
}

export const OFFLINE = "ENGINE.OFFLINE";
export const BOOTING = "ENGINE.BOOTING";
export const UNKNOWN = "unknown";

/** A training process is there, or the engine says so: neither OFFLINE nor BOOTING. */
export function isUp(status: string): boolean {
  return status !== OFFLINE && status !== BOOTING && status !== CANNOT_CONNECT;
}

/** Before the first look. */
export function nothingObserved(now: number): Observed {
  return {
    v: 1,
    version: 0,
    token: 0,
    looked_at: now,
    status: UNKNOWN,
    detail: null,
    global_step: null,
    since: now,
    progress: { mark: "", at: now },
    generation: 0,
    step: { kind: "none", reason: "nobody has looked yet" },
    finished: false,
    failures: 0,
    retry_at: 0,
    alarms: [],
  };
}

export function observeEngine(was: Observed, look: Look, settings: LifecycleSettings): Observed {
  const seen = { ...was, looked_at: look.now };
  if (look.status.engine_status === CANNOT_CONNECT)
    return { ...seen, unreachable: unreachable(was, look, settings) };
  const { engine_status: status, engine_status_detail: detail, global_step: step } = look.status;
  return {
    ...seen,
    unreachable: undefined,
    status,
    detail: detail ?? null,
    // An engine whose process is new says null: the step that is gone is none to compare with.
    global_step: step ?? null,
    since: status === was.status ? was.since : look.now,
    progress: progress(was, look),
    finished: (was.finished && !isUp(status)) || hasFinished(was, look),
  };
}

/** The step goes to 0 only when the training has run its last one; it survives every other way to OFFLINE. */
function hasFinished(was: Observed, { status }: Look): boolean {
  const knownBefore = was.version > 0 && was.global_step !== 0;
  return knownBefore && status.engine_status === OFFLINE && status.global_step === 0;
}

const FIRST_PAUSE_MS = 60_000;
const LONGEST_PAUSE_MS = 300_000;

/** From the alarm on it is asked less and less often, down to every five minutes. */
function unreachable(
  was: Observed,
  look: Look,
  settings: LifecycleSettings,
): NonNullable<Observed["unreachable"]> {
  const count = (was.unreachable?.count ?? 0) + 1;
  const beyond = count - settings.unreachableAlarmTicks;
  const pause = beyond < 0 ? 0 : Math.min(FIRST_PAUSE_MS * 2 ** Math.min(beyond, 10), LONGEST_PAUSE_MS);
  return {
    count,
    since: was.unreachable?.since ?? look.now,
    look_again_at: look.now + pause,
    detail: look.status.engine_status_detail ?? "no answer",
  };
}

function progress(was: Observed, look: Look): Observed["progress"] {
  const { engine_status: status } = look.status;
  const mark = look.pool === null && status === was.status ? was.progress.mark : progressMark(look);
  const idle = !isUp(status) || (look.waiting ?? 0) === 0;
  // What it did while nobody could look is not known.
  const unseen = was.unreachable !== undefined;
  return idle || unseen || mark !== was.progress.mark ? { mark, at: look.now } : was.progress;
}

/**
 * Changes whenever the engine gets on: another status or step, an episode ended, a model call answered. A trainer that
 * died reports nothing, so that its pool stands still.
 */
function progressMark({ status, pool }: Look): string {
  const running = Object.values(pool?.running_episode_details ?? {});
  const calls = running.reduce((sum, episode) => sum + (Number(episode.llm_call_count) || 0), 0);
  const done = [pool?.completed_episodes ?? 0, pool?.completed_tasks ?? 0];
  return [status.engine_status, status.global_step ?? "-", ...done, calls].join(" ");
}
