/** What a fleet costs: an estimate from what was measured (function time, invocations) and counted (attempts). */
import { prices } from "./prices.ts";

/** What the fleet's functions have used, in one period. */
export interface Usage {
  /** Gigabyte-seconds of function time. */
  readonly gb_seconds: number;
  readonly invocations: number;
  /** Messages that the invocations worked on; a deferred one counts at each delivery. */
  readonly deliveries: number;
}

export interface UsageStore {
  /** Adds to the day's usage and to the total. */
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
 * Requests that a delivery causes: a receive and a delete or deferral at the queue (a receive fetches several messages;
 * counted as one each, to be on the safe side), and at the table the writes of `docs/state.md`, indexes included.
 */
const PER_DELIVERY = { queueRequests: 2, writeUnits: 15, readUnits: 6 };

/** Estimated cost in USD. */
export function estimateUsd(usage: Usage): number {
  const { lambda, sqs, dynamodb } = prices;
  return (
    usage.gb_seconds * lambda.usdPerGbSecond +
    (usage.invocations / 1e6) * lambda.usdPerMillionRequests +
    ((usage.deliveries * PER_DELIVERY.queueRequests) / 1e6) * sqs.usdPerMillionRequests +
    ((usage.deliveries * PER_DELIVERY.writeUnits) / 1e6) * dynamodb.usdPerMillionWriteUnits +
    ((usage.deliveries * PER_DELIVERY.readUnits) / 1e6) * dynamodb.usdPerMillionReadUnits
  );
}
