/** What somebody should look at, as it follows from the record. Pure; each alarm keeps the time it was first raised. */
import type {
  Alarm,
  AlarmCode,
  Desired,
  LifecycleSettings,
  Observed,
  WantedRunning,
} from "./engine-state.ts";
import { BOOTING, isUp } from "./observe-engine.ts";
import { CRASH_WINDOW_MS } from "./start-record.ts";

const MINUTE_MS = 60_000;

export function isStalled(seen: Observed, { stalledMinutes }: LifecycleSettings): boolean {
  return isUp(seen.status) && seen.looked_at - seen.progress.at >= stalledMinutes * MINUTE_MS;
}

export function bootsTooLong(seen: Observed, { bootMinutes }: LifecycleSettings): boolean {
  return seen.status === BOOTING && seen.looked_at - seen.since >= bootMinutes * MINUTE_MS;
}

export function hasGivenUp(seen: Observed, { startAttempts }: LifecycleSettings): boolean {
  return seen.no_start !== undefined || seen.failures >= startAttempts || crashes(seen) >= startAttempts;
}

function crashes(seen: Observed): number {
  return seen.crashes?.length ?? 0;
}

/** `extra`: what the record does not say by itself. */
export function alarmsOf(
  seen: Observed,
  desired: Desired | undefined,
  settings: LifecycleSettings,
  extra: Partial<Record<AlarmCode, string>> = {},
): Alarm[] {
  const texts: Partial<Record<AlarmCode, string | undefined>> = {
    ...engineAlarms(seen, settings),
    ...(desired?.state === "running" ? startAlarms(seen, desired, settings) : {}),
    "call-failed": seen.call_error?.text,
    ...extra,
  };
  return (Object.entries(texts) as [AlarmCode, string | undefined][]).flatMap(([code, text]) => {
    if (text === undefined) return [];
    const before = seen.alarms.find((alarm) => alarm.code === code);
    return [{ code, since: before?.since ?? seen.looked_at, text }];
  });
}

type Texts = Partial<Record<AlarmCode, string | undefined>>;

function engineAlarms(seen: Observed, settings: LifecycleSettings): Texts {
  if (seen.unreachable !== undefined) {
    const { count, detail } = seen.unreachable;
    const text = `the engine has not answered ${count} looks in a row: ${detail}; is it running, can the function reach it?`;
    return count >= settings.unreachableAlarmTicks ? { unreachable: text } : {};
  }
  const minutes = Math.floor((seen.looked_at - seen.progress.at) / MINUTE_MS);
  return {
    stalled: isStalled(seen, settings)
      ? `${seen.status}, work waits, and nothing has moved for ${minutes} minutes: the trainer may be dead; see the engine's log, or restart it`
      : undefined,
    "boot-stalled": bootsTooLong(seen, settings)
      ? `the engine has been booting for more than ${settings.bootMinutes} minutes; see its log, or restart it`
      : undefined,
  };
}

function startAlarms(seen: Observed, wanted: WantedRunning, settings: LifecycleSettings): Texts {
  const why = seen.last_failure?.text ?? "";
  const hours = CRASH_WINDOW_MS / 3_600_000;
  const counted =
    seen.failures >= crashes(seen)
      ? `${seen.failures} of ${settings.startAttempts} starts failed`
      : `the trainer crashed ${crashes(seen)} times (${settings.startAttempts} within ${hours} hours are the limit)`;
  // An engine that is up shows that a later start did not fail, though they count until its first policy update.
  const failed = seen.failures > 0 && !isUp(seen.status);
  const gaveUp = !isUp(seen.status) && hasGivenUp(seen, settings);
  // Until what was started after it has brought a policy update.
  const crashed = seen.conclusion?.what === "crashed" && crashes(seen) > 0 && seen.run?.updated !== true;
  const gaveUpWhy =
    seen.no_start ?? `${counted}, and no more are made until the desired state is set anew: ${why}`;
  return {
    "gave-up": gaveUp ? gaveUpWhy : undefined,
    "start-failed": failed && !gaveUp ? `${counted}: ${why}` : undefined,
    crashed:
      crashed && !gaveUp
        ? `${seen.conclusion?.why}; it is started again (crash ${crashes(seen)})`
        : undefined,
    "config-differs": differenceOf(seen, wanted),
  };
}

function differenceOf({ status, start }: Observed, { hash, code }: WantedRunning): string | undefined {
  if (start === undefined || !(isUp(status) || status === BOOTING)) return undefined;
  if (start.hash === hash && start.code === code?.sha256) return undefined;
  const other = start.hash === hash ? "code" : "config";
  return `the engine runs with another ${other} than the desired one; restart it to use the new one`;
}
