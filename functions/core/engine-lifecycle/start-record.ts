/** A start's way from the intent on: what is sent, what was answered, what the looks since say. Pure. */
import type { Outcome } from "./engine-calls.ts";
import type { CodeOutcome } from "./engine-code.ts";
import type { LifecycleSettings, Observed, StartRecord, WantedRunning } from "./engine-state.ts";

/** Milliseconds that the engine may take to answer a start: the reference's limit. */
export const START_MS = 600_000;
/** For a call on its way, and for clocks that differ. */
const MARGIN_MS = 60_000;

/** To be recorded before the call is sent. `endsAt`: when the process that sends it dies at the latest, unix ms. */
export function startIntent(wanted: WantedRunning, now: number, endsAt: number): StartRecord {
  return {
    generation: wanted.generation,
    hash: wanted.hash,
    ...(wanted.code === undefined ? {} : { code: wanted.code.sha256 }),
    at: now,
    until: Math.max(now + START_MS, endsAt) + MARGIN_MS,
    answer: "none",
    seen: "nothing",
    first_step: null,
    updated: false,
    ...(wanted.total_steps === undefined ? {} : { total_steps: wanted.total_steps }),
  };
}

/** A start that may have been sent and may still arrive. */
export function isUnderWay({ start }: Observed): boolean {
  return start?.seen === "nothing" && (start.answer === "none" || start.answer === "unclear");
}

/** The next start waits: `startPauseSeconds`, twice that, four times that … */
export function countFailure(seen: Observed, text: string, settings: LifecycleSettings): Observed {
  const failures = seen.failures + 1;
  const pause = settings.startPauseSeconds * 1000 * 2 ** Math.min(seen.failures, 20);
  const last_failure = { at: seen.looked_at, text };
  return { ...seen, failures, last_failure, retry_at: seen.looked_at + pause };
}

/** Milliseconds within which crashes add up to `startAttempts`. */
export const CRASH_WINDOW_MS = 6 * 3_600_000;

/**
 * The first restart after a crash comes at once, later ones after the pauses of failed starts. Progress in between does
 * not make a crash good, or a trainer that dies after each policy update would be started for ever. Where the config
 * says no last step, a training that has finished looks the same: then all crashes of a generation count.
 */
export function countCrash(
  seen: Observed,
  text: string,
  settings: LifecycleSettings,
  total: number | undefined,
): Observed {
  const since = total === undefined ? 0 : seen.looked_at - CRASH_WINDOW_MS;
  const earlier = (seen.crashes ?? []).filter((at) => at > since);
  const pause = earlier.length === 0 ? 0 : settings.startPauseSeconds * 1000 * 2 ** (earlier.length - 1);
  return {
    ...seen,
    crashes: [...earlier, seen.looked_at],
    last_failure: { at: seen.looked_at, text },
    retry_at: seen.looked_at + pause,
  };
}

/** After code that was not taken. */
export function afterCode(
  seen: Observed,
  outcome: Exclude<CodeOutcome, { kind: "accepted" }>,
  now: number,
  settings: LifecycleSettings,
): Observed {
  const failed = afterSync(seen, outcome, now, settings, "sync_train_code");
  return outcome.hopeless === undefined ? failed : { ...failed, no_start: outcome.hopeless };
}

/** After a config that was not taken. Only a no counts as a failed start: an engine in trouble may get over it. */
export function afterSync(
  seen: Observed,
  outcome: Failed,
  now: number,
  settings: LifecycleSettings,
  call = "sync_train_config",
): Observed {
  const failed = { ...seen, looked_at: now, call_error: callError(call, outcome, now) };
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
