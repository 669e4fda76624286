/** A start's way from the intent to its end: what is sent, what was answered, what the looks since say. Pure. */
import type { Outcome } from "./engine-calls.ts";
import type { LifecycleSettings, Observed, StartRecord, WantedRunning } from "./engine-state.ts";
import { BOOTING, isUp, OFFLINE } from "./observe-engine.ts";

/** Milliseconds that the engine may take to answer a start: the reference's limit. */
export const START_MS = 600_000;
/** For a call on its way, and for clocks that differ. */
const MARGIN_MS = 60_000;

/** To be recorded before the call is sent. `endsAt`: when the process that sends it dies at the latest, unix ms. */
export function startIntent(wanted: WantedRunning, now: number, endsAt: number): StartRecord {
  return {
    generation: wanted.generation,
    hash: wanted.hash,
    at: now,
    until: Math.max(now + START_MS, endsAt) + MARGIN_MS,
    answer: "none",
    seen: "nothing",
    first_step: null,
    updated: false,
  };
}

/** A start that may have been sent and may still arrive. */
export function isUnderWay({ start }: Observed): boolean {
  return start?.seen === "nothing" && (start.answer === "none" || start.answer === "unclear");
}

/** What the newest look, already in `seen`, says about the start. */
export function settleStart(seen: Observed, settings: LifecycleSettings): Observed {
  const { start, status } = seen;
  if (start === undefined || seen.unreachable !== undefined) return seen;
  if (status === OFFLINE) return atOffline(seen, start, settings);
  if (status === BOOTING) return { ...seen, start: { ...start, seen: "booting" } };
  return isUp(status) ? whileUp(seen, start) : seen;
}

/** A start that was refused is not what runs there. A policy update makes good what failed before. */
function whileUp(seen: Observed, start: StartRecord): Observed {
  if (start.answer === "refused") return { ...seen, start: undefined };
  const first_step = start.first_step ?? seen.global_step;
  const updated = start.updated || (first_step !== null && (seen.global_step ?? 0) > first_step);
  const next: Observed = { ...seen, start: { ...start, seen: "up", first_step, updated } };
  return updated ? { ...next, failures: 0, last_failure: undefined } : next;
}

function atOffline(seen: Observed, start: StartRecord, settings: LifecycleSettings): Observed {
  if (isUnderWay(seen) && seen.looked_at < start.until) return seen;
  const gone = { ...seen, start: undefined };
  const ourStop = (seen.stopped_at ?? 0) >= start.at;
  // A refusal was counted when it came.
  if (ourStop || seen.finished || start.updated || start.answer === "refused") return gone;
  // Somebody has changed their mind since: this failure is not one of the newer wish.
  if (start.generation !== seen.generation) return gone;
  return countFailure(gone, whatFailed(seen, start), settings);
}

function whatFailed({ detail }: Observed, start: StartRecord): string {
  const words = `the engine's detail: ${detail ?? "none"}`;
  if (start.seen === "up") return `the engine went OFFLINE before its first policy update; ${words}`;
  if (start.seen === "booting" || start.answer === "accepted")
    return `the engine fell back to OFFLINE while booting; ${words}`;
  return `the answer was lost, and the engine stayed OFFLINE; ${words}`;
}

/** The next start waits: `startPauseSeconds`, twice that, four times that … */
export function countFailure(seen: Observed, text: string, settings: LifecycleSettings): Observed {
  const failures = seen.failures + 1;
  const pause = settings.startPauseSeconds * 1000 * 2 ** Math.min(seen.failures, 20);
  const last_failure = { at: seen.looked_at, text };
  return { ...seen, failures, last_failure, retry_at: seen.looked_at + pause };
}

/** After a config that was not taken. Only a no counts as a failed start: an engine in trouble may get over it. */
export function afterSync(
  seen: Observed,
  outcome: Failed,
  now: number,
  settings: LifecycleSettings,
): Observed {
  const failed = { ...seen, looked_at: now, call_error: callError("sync_train_config", outcome, now) };
  if (outcome.kind === "refused") return countFailure(failed, failed.call_error.text, settings);
  return { ...failed, retry_at: now + settings.startPauseSeconds * 1000 };
}

/** After a start was sent, or could not be. */
export function afterStart(
  seen: Observed,
  outcome: Outcome,
  now: number,
  settings: LifecycleSettings,
): Observed {
  const { start } = seen;
  if (start === undefined) return seen;
  const looked = { ...seen, looked_at: now };
  if (outcome.kind === "accepted")
    return { ...looked, start: { ...start, answer: "accepted" }, call_error: undefined };
  const call_error = callError("start_engine", outcome, now);
  if (outcome.kind === "unreachable") return { ...looked, start: undefined, call_error };
  const answered: Observed = { ...looked, start: { ...start, answer: outcome.kind }, call_error };
  return outcome.kind === "refused" ? countFailure(answered, call_error.text, settings) : answered;
}

/** A stop may be repeated without harm: the next look says whether it has to be. */
export function afterStop(seen: Observed, outcome: Outcome, now: number): Observed {
  const accepted = outcome.kind === "accepted";
  return { ...seen, call_error: accepted ? undefined : callError("stop_engine", outcome, now) };
}

type Failed = Exclude<Outcome, { kind: "accepted" }>;

function callError(call: string, { kind, words }: Failed, at: number): { at: number; text: string } {
  return { at, text: `${call} was ${kind}: ${words}` };
}
