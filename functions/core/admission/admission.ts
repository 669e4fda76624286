/**
 * Admission at scale: who of a fleet's waiting rollouts may claim, from one reading of the engine's pool and of the
 * fleet's item. Pure. Given the same facts, the verdicts are the reference's (`throttle.ts`); the item adds the facts
 * that the pool does not show yet.
 */

import {
  AdmissionDecision,
  type AdmissionRules,
  type AdmissionVerdict,
  type Pool,
  type TaskRequest,
} from "./admission-decision.ts";
import { type AdmissionState, drop, type FleetAdmission, stateOf } from "./admission-item.ts";
import { taskKey } from "./task-key.ts";

export { type AdmissionRules, type AdmissionVerdict, admissionDefaults } from "./admission-decision.ts";

/** A waiting rollout. `counted`: the item's place already counts its claim. */
export interface Asker {
  readonly taskId: string;
  readonly counted: boolean;
}

export interface AdmissionOutcome {
  /** One for each asker, in the askers' order. */
  readonly verdicts: readonly AdmissionVerdict[];
  /** To be written before any verdict is acted upon; undefined where nothing changed. */
  readonly next: AdmissionState | undefined;
}

/**
 * `item` must have been read before `pool`: then the pool is never from an earlier batch than the item.
 * @param now when the pool was asked, unix ms: what it does not show was missing then.
 */
export function decide(
  item: FleetAdmission | undefined,
  pool: Pool,
  askers: readonly Asker[],
  rules: AdmissionRules,
  now: number,
): AdmissionOutcome {
  const round = new AdmissionDecision(item, pool, rules, now);
  round.observe();
  const verdicts = new Map<string, AdmissionVerdict>();
  for (const request of inOrder(askers, round)) verdicts.set(request.taskId, round.ask(request));
  return {
    verdicts: askers.map(({ taskId }) => verdicts.get(taskId) ?? { admitted: false, reason: "" }),
    next: round.changes(),
  };
}

/** The state without the claims of rollouts that gave up; undefined where that changes nothing. */
export function withoutClaims(item: FleetAdmission, taskIds: readonly string[]): AdmissionState | undefined {
  const places = new Map(Object.entries(item.places));
  const seen = new Set(item.seen);
  for (const key of taskIds.map(taskKey)) {
    const place = places.get(key);
    if (!place?.claims) continue;
    if (place.claims > 1) places.set(key, { ...place, claims: place.claims - 1 });
    else drop(key, places, seen);
  }
  const same = [...places].every(([key, place]) => item.places[key] === place);
  if (same && places.size === Object.keys(item.places).length) return undefined;
  return stateOf(item, places, seen);
}

/**
 * An order that depends on nothing but the askers and the facts: first who passes anyway, and so counts; then the tasks
 * with most of their repeats at hand, since a group that is complete sooner is worth more; then by key.
 */
function inOrder(askers: readonly Asker[], round: AdmissionDecision): TaskRequest[] {
  const requests = [...Map.groupBy(askers, ({ taskId }) => taskId)].map(([taskId, group]) => {
    const key = taskKey(taskId);
    const uncounted = group.filter(({ counted }) => !(counted && round.holds(key))).length;
    return { taskId, key, uncounted, size: group.length, fresh: round.isFresh(key) ? 1 : 0 };
  });
  return requests.toSorted(
    (a, b) => a.fresh - b.fresh || b.size - a.size || compare(a.key, b.key) || compare(a.taskId, b.taskId),
  );
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

export interface Admission {
  readonly admitted: boolean;
  readonly reason?: string;
}
