/** What a look at the engine changes in the record, whatever is wanted. Pure. */

import { CANNOT_CONNECT, type EngineStatus, type PoolInformation } from "../protocol.ts";
import type { LifecycleSettings, Observed, TrainingRun } from "./engine-state.ts";

/** One look at the engine. */
export interface Look {
  /** Unix ms. */
  readonly now: number;
  readonly status: EngineStatus;
  /** Null where the pool could not be read, or was not asked for. */
  readonly pool: PoolInformation | null;
  /** Rollouts that wait or run, over the fleets that are not paused; null where that is not known. */
  readonly waiting: number | null;
  /** Undefined where the engine does not offer it, or was not asked. */
  readonly experimentDir?: string | null | undefined;
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
    experiment_dir: isUp(status) ? (look.experimentDir ?? was.experiment_dir) : undefined,
    // The run that has ended stays until it is settled what its end was.
    run: status === OFFLINE ? was.run : runOf(was, look),
    finished: was.finished && !isUp(status),
  };
}

/** A stop that was sent so long ago does not reach the engine any more: its call's limit and a minute on its way. */
const STOP_REACHES_MS = 660_000;

function runOf(was: Observed, { now, status }: Look): TrainingRun {
  const step = isUp(status.engine_status) ? (status.global_step ?? null) : null;
  const run = continued(was, status.engine_status, step) ?? newRun(now);
  const survived = was.stopped_at !== undefined && now - was.stopped_at > STOP_REACHES_MS;
  const began = survived ? Math.max(run.began, now) : run.began;
  if (step === null || step === run.step) return { ...run, began };
  const first_step = run.first_step ?? step;
  return { began, first_step, step, step_at: now, updated: run.updated || step > first_step };
}

/** Undefined where what runs there is not what ran before: it boots, or counts its steps anew. */
function continued(was: Observed, status: string, step: number | null): TrainingRun | undefined {
  if (was.run === undefined || (status === BOOTING && isUp(was.status))) return undefined;
  return step !== null && step < (was.run.step ?? 0) ? undefined : was.run;
}

function newRun(now: number): TrainingRun {
  return { began: now, first_step: null, step: null, step_at: now, updated: false };
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
