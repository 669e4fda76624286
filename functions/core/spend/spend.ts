/** What a fleet costs: an estimate from what was measured (function time) and counted (invocations, deliveries, attempts). */
import { prices } from "./prices.ts";

/** What the fleet's functions have used, in one period. */
export interface Usage {
  /** Gigabyte-seconds of function time. */
  readonly gb_seconds: number;
  readonly invocations: number;
  /** Messages that the invocations received; a deferred one counts at each delivery. */
  readonly deliveries: number;
  /** Episodes that they claimed. Absent in what was counted before it was counted. */
  readonly attempts?: number | undefined;
}

export interface UsageStore {
  /** Adds to the day's usage and to the total. Sent once: a lost answer may leave one of them out, and doubles none. */
  add(fleet: string, day: string, usage: Usage): Promise<void>;
  read(fleet: string, period: string): Promise<Usage>;
}

/** The period of a fleet's whole life. */
export const ALL_TIME = "TOTAL";

/** The UTC day of a moment, as `2026-11-30`. */
export function dayOf(unixMs: number): string {
  return new Date(unixMs).toISOString().slice(0, 10);
}

/**
 * What each causes at the queue and the table, in requests and in units of 1 KB (written, with indexes) and 4 KB (read);
 * `docs/state.md` has the writes one by one.
 */
const perInvocation = { queueRequests: 1, writeUnits: 6, readUnits: 1 };
/** A message that is received, and deleted or put off: its receipt in the invocation's item, and its rollout's, read. */
const perDelivery = { queueRequests: 1, writeUnits: 1, readUnits: 1 };
/** An episode from its claim to its confirmation. */
const perAttempt = { queueRequests: 0, writeUnits: 15, readUnits: 2 };

/** Estimated cost in USD. */
export function estimateUsd(usage: Usage): number {
  const { lambda, sqs, dynamodb } = prices;
  const sum = (of: keyof typeof perDelivery) =>
    usage.invocations * perInvocation[of] +
    usage.deliveries * perDelivery[of] +
    (usage.attempts ?? 0) * perAttempt[of];
  return (
    usage.gb_seconds * lambda.usdPerGbSecond +
    (usage.invocations / 1e6) * lambda.usdPerMillionRequests +
    (sum("queueRequests") / 1e6) * sqs.usdPerMillionRequests +
    (sum("writeUnits") / 1e6) * dynamodb.usdPerMillionWriteUnits +
    (sum("readUnits") / 1e6) * dynamodb.usdPerMillionReadUnits
  );
}
