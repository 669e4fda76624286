/** What agents do to their thread or process: charged to those who do it, and told by their dead letters. */
import { usesUpAnAttempt } from "../../../functions/core/reasons.ts";
import type { PastAttempt, RolloutItem } from "../../../functions/core/rollout/item.ts";
import type { Ailment } from "../task-facts.ts";
import type { Evidence, Violation } from "./evidence.ts";

/** Words of what can be done to a thread or process. */
const HARM =
  /(called process\.|blocked the event loop|used more than|aborted its process|ended its (process|thread))/;

/** What a dead letter says about those that harm others. */
const words: Partial<Record<Ailment, RegExp>> = {
  exit: /called process\.exit\(1\)/,
  spin: /blocked the event loop/,
  bloat: /(used|mostly) more than \d+ MB of heap/,
};

export function harmViolations(evidence: Evidence): Violation[] {
  return [...(evidence.items ?? [])].flatMap(([rollout, item]) => {
    const ailment = evidence.guilty?.get(rollout);
    const what =
      chargedForAnother(item, evidence) ??
      (ailment === undefined ? chargedThoughHealthy(item, evidence) : unpunished(item, ailment, evidence));
    return what === undefined ? [] : [{ rollout, what }];
  });
}

function chargedForAnother({ history }: RolloutItem, { misbehaved }: Evidence): string | undefined {
  const wrong = history.find(
    ({ id, reason, detail = "" }) =>
      usesUpAnAttempt(reason) && HARM.test(detail) && misbehaved?.has(id) === false,
  );
  return wrong && noCharge(wrong);
}

/** Where nothing but the guilty disturbs a run, nothing at all may be charged to the others. */
function chargedThoughHealthy({ history }: RolloutItem, { guiltyAlone }: Evidence): string | undefined {
  const wrong = guiltyAlone
    ? history.find(({ reason }) => reason !== "ended" && usesUpAnAttempt(reason))
    : undefined;
  return wrong && noCharge(wrong);
}

function noCharge({ reason, detail }: PastAttempt): string {
  return `expected no charge for a healthy agent, found ${reason}: ${detail}`;
}

function unpunished(
  item: RolloutItem,
  ailment: Ailment,
  { guiltyAlone, letters }: Evidence,
): string | undefined {
  const expected = words[ailment];
  if (expected === undefined) return undefined;
  if (item.state !== "dead")
    return `expected a dead letter for ${ailment} at every attempt, found ${item.state}`;
  const said =
    letters?.find(({ attributes }) => attributes["rollout"] === item.key)?.attributes["error"] ?? "";
  // Under other faults its last attempt may have ended otherwise.
  if (!guiltyAlone || expected.test(said)) return undefined;
  return `expected a dead letter that says what ${ailment} did, found "${said}"`;
}

export interface HarmFigures {
  readonly ailment: Ailment;
  readonly rollouts: number;
  readonly dead: number;
  /** Seconds from the run's first claim until they were dead. */
  readonly median: number | null;
  readonly max: number | null;
}

/** How long it took until the guilty were found out. */
export function harmFigures({ guilty, items, ledger }: Evidence): HarmFigures[] {
  const began = ledger.find((entry) => entry.kind === "claim" && entry.granted)?.at ?? 0;
  const byAilment = Map.groupBy(guilty ?? [], ([, ailment]) => ailment);
  return [...byAilment].map(([ailment, those]) => {
    const times = those
      .map(([rollout]) => items?.get(rollout))
      .flatMap((item) => (item?.state === "dead" ? [((item.history.at(-1)?.at ?? 0) - began) / 1000] : []))
      .toSorted((a, b) => a - b);
    const [median = null, max = null] = [times[times.length >> 1], times.at(-1)];
    return { ailment, rollouts: those.length, dead: times.length, median, max };
  });
}
