/**
 * What to do about an engine in this tick: at most one safe step, from what is wanted, what is known, and one look.
 * Pure. The verdict for each status is the reference's (`auto_sync_train_config_and_start_engine`, `stop_engine`), but
 * where it raises an error, this waits. docs/lifecycle.md has the table.
 */
import { alarmsOf, bootsTooLong, hasGivenUp, isStalled } from "./engine-alarms.ts";
import type { AlarmCode, Desired, LifecycleSettings, Observed, Step, WantedRunning } from "./engine-state.ts";
import { BOOTING, isUp, type Look, nothingObserved, OFFLINE, observeEngine } from "./observe-engine.ts";
import { asksForRestart, settleStart } from "./settle-start.ts";
import { countFailure, isUnderWay } from "./start-record.ts";

/** Milliseconds between a stop and the next start. Source: the reference's force_restart. */
export const RESTART_PAUSE_MS = 8000;

export interface Decision {
  readonly step: Step;
  /** The record to be written before the step is taken. */
  readonly next: Observed;
}

/** What is wrong with the desired state: the engine is only watched then, and the fault shown. */
export type Faults = Partial<Record<AlarmCode, string>>;

export interface ReconcileFacts {
  readonly desired: Desired | undefined;
  readonly observed: Observed | undefined;
  readonly look: Look;
  readonly settings: LifecycleSettings;
  readonly faults?: Faults;
}

export function reconcile({ desired, observed, look, settings, faults = {} }: ReconcileFacts): Decision {
  const wanted = Object.keys(faults).length === 0 ? desired : undefined;
  const was = observed ?? nothingObserved(look.now);
  const settled = settleStart(was, observeEngine(was, look, settings), { desired: wanted, settings });
  const current = forGeneration(settled, desired);
  const { step, next } = decide(wanted, current, settings);
  const recorded = {
    ...next,
    step,
    agree_after: settings.agreeAfter,
    ...(step.kind === "none" ? { call_error: undefined } : {}),
  };
  return { step, next: { ...recorded, alarms: alarmsOf(recorded, wanted, settings, faults) } };
}

/** What failed before somebody changed their mind does not count any more. A start that is under way stays. */
function forGeneration(seen: Observed, desired: Desired | undefined): Observed {
  const generation = desired?.generation ?? 0;
  if (generation === seen.generation) return seen;
  const clean = { failures: 0, crashes: undefined, last_failure: undefined, retry_at: 0, finished: false };
  const possible = { no_start: undefined, call_error: undefined };
  return { ...seen, ...clean, ...possible, generation };
}

function decide(desired: Desired | undefined, seen: Observed, settings: LifecycleSettings): Decision {
  if (desired === undefined) return none(seen, "no state is desired: watching only");
  if (seen.unreachable !== undefined) return wait(seen, "the engine cannot be reached");
  if (desired.state === "stopped") return toStopped(seen);
  return asksForRestart(desired, seen)
    ? toRestarted(desired, seen, settings)
    : toRunning(desired, seen, settings);
}

/** Stopping leads to OFFLINE from anywhere. A start that may still arrive is stopped when it has. */
function toStopped(seen: Observed): Decision {
  if (seen.status !== OFFLINE) return stop(seen, "wanted stopped");
  return isUnderWay(seen)
    ? wait(seen, "wanted stopped, but a start may still be under way")
    : none(seen, "stopped, as wanted");
}

function toRestarted(desired: WantedRunning, seen: Observed, settings: LifecycleSettings): Decision {
  if (seen.status !== OFFLINE) return stop(seen, "a restart was asked for");
  if (isUnderWay(seen)) return wait(seen, "a restart was asked for, but a start may still be under way");
  return toRunning(desired, { ...seen, restarted: desired.restart }, settings);
}

function toRunning(desired: WantedRunning, seen: Observed, settings: LifecycleSettings): Decision {
  if (seen.status === OFFLINE) return fromOffline(desired, seen, settings);
  if (seen.status === BOOTING) return whileBooting(seen, settings);
  if (isKnownUp(seen.status) && settings.restartWhenStalled && isStalled(seen, settings))
    return giveUp(seen, seen.progress.at, "the engine stalled", settings);
  const rolls = seen.status === "ENGINE.ROLLING" || seen.status === "ENGINE.ROLLING_POST";
  return rolls ? none(seen, "running, as wanted") : wait(seen, `the engine is ${seen.status}`);
}

/** A status that a newer engine brought is never acted upon. */
function isKnownUp(status: string): boolean {
  return isUp(status) && /^ENGINE\.(ROLLING|ROLLING_POST|WEIGHT_SYNCING|WEIGHT_EXPORTING)$/.test(status);
}

function fromOffline(desired: WantedRunning, seen: Observed, settings: LifecycleSettings): Decision {
  if (isUnderWay(seen)) return wait(seen, "a start may still be under way: its answer was lost");
  if (seen.finished) return none(seen, "the training has run its last step");
  if (seen.no_start !== undefined) return none(seen, "no start can succeed: left alone");
  if (hasGivenUp(seen, settings)) return none(seen, "it failed or crashed too often: left alone");
  if (seen.looked_at < seen.retry_at)
    return wait(seen, seen.failures > 0 ? "a pause after a failed start" : "a pause after a crash");
  const offlineFor = seen.looked_at - Math.max(seen.since, seen.stopped_at ?? 0);
  if (seen.stopped_at !== undefined && offlineFor < RESTART_PAUSE_MS)
    return wait(seen, "a pause after the stop");
  return { step: { kind: "start", reason: `wanted running, generation ${desired.generation}` }, next: seen };
}

/** An engine that refused our start says BOOTING until it is stopped. */
function whileBooting(seen: Observed, settings: LifecycleSettings): Decision {
  const { start } = seen;
  if (start?.answer === "refused")
    return stop(seen, "the engine refused the start, and boots until it is stopped");
  const answered = start === undefined || start.answer === "accepted";
  if (!bootsTooLong(seen, settings)) return wait(seen, "the engine is booting");
  if (!answered)
    return giveUp(seen, seen.since, "the answer was lost, and the engine booted for too long", settings);
  if (settings.restartWhenStalled)
    return giveUp(seen, seen.since, "the engine booted for too long", settings);
  return wait(seen, "the engine has been booting for too long");
}

/** Stops what came of a start. It is one failure, however often the stop has to be sent. */
function giveUp(seen: Observed, begunAt: number, why: string, settings: LifecycleSettings): Decision {
  const counted = (seen.stopped_at ?? 0) > begunAt;
  return stop(counted ? seen : countFailure(seen, why, settings), why);
}

function none(next: Observed, reason: string): Decision {
  return { step: { kind: "none", reason }, next };
}

function wait(next: Observed, reason: string): Decision {
  return { step: { kind: "wait", reason }, next };
}

function stop(next: Observed, reason: string): Decision {
  return { step: { kind: "stop", reason }, next };
}
