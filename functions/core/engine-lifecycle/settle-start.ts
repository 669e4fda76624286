/** What the newest look says about what runs there: of a start of ours, and of an end, whoever started it. Pure. */
import type { Conclusion, Desired, LifecycleSettings, Observed, StartRecord } from "./engine-state.ts";
import { BOOTING, isUp, OFFLINE, UNKNOWN } from "./observe-engine.ts";
import { countCrash, countFailure, isUnderWay } from "./start-record.ts";

export interface SettleFacts {
  readonly desired: Desired | undefined;
  readonly settings: LifecycleSettings;
}

/** `was`: the record before the look; `seen`: with the look in it. */
export function settleStart(was: Observed, seen: Observed, facts: SettleFacts): Observed {
  const { start, status } = seen;
  if (seen.unreachable !== undefined) return seen;
  if (status === OFFLINE) return atOffline(was, seen, facts);
  if (start === undefined) return seen;
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

function atOffline(was: Observed, seen: Observed, facts: SettleFacts): Observed {
  const { start } = seen;
  if (start !== undefined && isUnderWay(seen) && seen.looked_at < start.until) return seen;
  const ran = was.status !== OFFLINE && was.status !== UNKNOWN;
  if (!ran && start === undefined) return { ...seen, run: undefined };
  const gone = { ...seen, start: undefined, run: undefined };
  // A refusal was counted when it came, and nothing came of it that could have ended.
  if (!ran && start?.answer === "refused") return gone;
  const end = endOf(was, seen, facts.desired);
  return counted({ ...gone, conclusion: { ...end, at: seen.looked_at } }, end, start, facts);
}

type End = Omit<Conclusion, "at">;

/** The engine says OFFLINE with step 0 after every end, so that only what was seen and done before can tell. */
function endOf(was: Observed, seen: Observed, desired: Desired | undefined): End {
  const { start, run } = seen;
  if (isOwnStop(seen)) return { what: "stopped", why: `Sortie stopped it: ${stopReason(was)}` };
  if (desired?.state === "stopped" || asksForRestart(desired, seen))
    return { what: "stopped", why: "somebody else stopped it, or it crashed, when it was wanted stopped" };
  if (start?.answer === "refused")
    return { what: "crashed", why: `it refused a start, and went OFFLINE; ${words(seen)}` };
  if (start !== undefined && start.seen !== "up") return failedBoot(seen, start);
  const total = totalSteps(seen, desired);
  const step = run?.step ?? null;
  if (total !== undefined && step !== null && step >= total && hasTrained(was, seen))
    return { what: "finished", why: `its last step was done: step ${step} of ${total} was seen` };
  return { what: "crashed", why: crashText(seen, total) };
}

function isOwnStop({ stopped_at, start, run }: Observed): boolean {
  return stopped_at !== undefined && stopped_at >= (start?.at ?? 0) && stopped_at >= (run?.began ?? 0);
}

function stopReason({ step }: Observed): string {
  return step.kind === "stop" ? step.reason : "as was wanted then";
}

export function asksForRestart(desired: Desired | undefined, seen: Observed): boolean {
  return desired?.state === "running" && desired.restart !== undefined && desired.restart !== seen.restarted;
}

/** A policy update was seen: another step, or the update of a training that has one step alone. */
function hasTrained(was: Observed, { start, run }: Observed): boolean {
  return (
    start?.updated === true || run?.updated === true || /^ENGINE\.WEIGHT_(SYNC|EXPORT)ING$/.test(was.status)
  );
}

/** Of the config that it was started with; of the wanted one where somebody else has started it. */
function totalSteps({ start }: Observed, desired: Desired | undefined): number | undefined {
  if (start?.total_steps !== undefined) return start.total_steps;
  if (desired?.state !== "running") return undefined;
  return start === undefined || start.hash === desired.hash ? desired.total_steps : undefined;
}

function failedBoot(seen: Observed, { seen: furthest, answer }: StartRecord): End {
  if (furthest === "booting" || answer === "accepted")
    return { what: "crashed", why: `the engine fell back to OFFLINE while booting; ${words(seen)}` };
  return { what: "not-started", why: `the answer was lost, and the engine stayed OFFLINE; ${words(seen)}` };
}

function crashText(seen: Observed, total: number | undefined): string {
  const { start, run, global_step } = seen;
  const updated = start?.updated === true || run?.updated === true;
  const when = updated ? `at step ${run?.step ?? "?"}` : "before its first policy update";
  const of = total === undefined ? ", and the config names no last step" : `, of ${total} steps`;
  const how = global_step === null ? "; the engine's server has started anew" : "";
  return `the engine went OFFLINE ${when}${of}, and Sortie had not stopped it${how}; ${words(seen)}`;
}

function words({ detail }: Observed): string {
  return `the engine's detail: ${detail ?? "none"}`;
}

function counted(
  seen: Observed,
  end: End,
  start: StartRecord | undefined,
  { desired, settings }: SettleFacts,
): Observed {
  if (end.what === "finished") return { ...seen, finished: true };
  if (end.what === "stopped" || start?.answer === "refused") return seen;
  // Somebody has changed their mind since: this failure is not one of the newer wish.
  if (start !== undefined && start.generation !== seen.generation) return seen;
  if (start !== undefined && !start.updated) return countFailure(seen, end.why, settings);
  const total = totalSteps({ ...seen, start }, desired);
  return countCrash(seen, end.why, settings, total);
}
