/** 4. Waiting is not failing: only reasons that a rollout is to blame for use up its attempts. */
import { type Reason, usesUpAnAttempt } from "../../../functions/core/reasons.ts";
import { HISTORY_LENGTH, type PastAttempt, type RolloutItem } from "../../../functions/core/rollout/item.ts";
import { PROXY_WORDS } from "../proxy-answers.ts";
import type { Check, Evidence, Violation } from "./evidence.ts";
import { harmViolations } from "./harm.ts";

/** A process learns of the circuit's state a while after it changed. */
const LEARNS_WITHIN_MS = 10_000;

export function checkWaiting(evidence: Evidence): Check {
  const counts = { attempts: 0, "without penalty": 0, "while the circuit was open": 0, "dead letters": 0 };
  const violations: Violation[] = harmViolations(evidence);
  for (const [rollout, item] of evidence.items ?? []) {
    const failed = item.history.filter(({ reason }) => reason !== "ended");
    const blamed = failed.filter(({ reason }) => usesUpAnAttempt(reason));
    const excused = blamed.filter((attempt) => wasTripped(attempt, evidence)).length;
    counts.attempts += item.history.length;
    counts["without penalty"] += failed.length - blamed.length;
    counts["while the circuit was open"] += blamed.length - item.attempts;
    const what =
      miscounted(item, blamed.length, excused) ?? costOfNothing(failed, evidence) ?? blamedForProxy(failed);
    if (what) violations.push({ rollout, what });
  }
  for (const { attributes } of evidence.letters ?? []) {
    counts["dead letters"] += 1;
    const reason = attributes["reason"] as Reason | undefined;
    if (reason === undefined || !usesUpAnAttempt(reason))
      violations.push({ rollout: attributes["rollout"], what: `a dead letter for the reason ${reason}` });
  }
  return { number: 4, title: "waiting is not failing", counts, violations };
}

function miscounted(item: RolloutItem, blamed: number, excused: number): string | undefined {
  // The oldest attempts of a long history are not told any more.
  if (item.tries > HISTORY_LENGTH) return undefined;
  if (item.attempts <= blamed && item.attempts >= blamed - excused) return undefined;
  const reasons = item.history.map(({ reason }) => reason).join(", ");
  return `expected ${blamed} attempts used up (${excused} perhaps excused), found ${item.attempts}: ${reasons}`;
}

/** What the engine does by itself ends attempts in any run; a function or table in trouble must end none in this one. */
const ofTheEngine: ReadonlySet<Reason> = new Set(["engine-left-rolling"]);

function costOfNothing(failed: readonly PastAttempt[], { costsNothing }: Evidence): string | undefined {
  const wrong = costsNothing ? failed.find(({ reason }) => !ofTheEngine.has(reason)) : undefined;
  return (
    wrong && `expected every healthy episode to end with its result, found ${wrong.reason}: ${wrong.detail}`
  );
}

/** A proxy's answer uses up no attempt, and no stored result is dropped over it, which is what `engine-refused` means. */
function blamedForProxy(failed: readonly PastAttempt[]): string | undefined {
  const blamed = failed.find(
    ({ reason, detail }) =>
      detail?.includes(PROXY_WORDS) && (usesUpAnAttempt(reason) || reason === "engine-refused"),
  );
  return blamed && `a proxy's answer ended an attempt: ${blamed.reason}, ${blamed.detail}`;
}

function wasTripped({ at }: PastAttempt, { tripped = [], clocksOffMs = 0 }: Evidence): boolean {
  // Two clocks tell: this process's, and that of the one that opened or closed the circuit.
  const off = 2 * clocksOffMs;
  return tripped.some(({ from, to }) => at >= from - off && at <= to + LEARNS_WITHIN_MS + off);
}
