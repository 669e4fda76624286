/**
 * Which partitions of the table belong to whom, as patterns of `dynamodb:LeadingKeys`. The adapters in
 * `functions/adapters/table` make the keys; `test/lib/table-keys.test.ts` compares the two.
 */

/** A fleet's rollouts. A fleet's name holds no `#`, so that no fleet's pattern covers another's. */
export const rolloutsOf = (fleet: string): string => `ROLLOUT#${fleet}#*`;
/** A fleet's totals, gate, admissions and budget. */
export const fleetItems = (fleet: string): string => `FLEET#${fleet}`;
/** An engine's snapshots, its desired and observed state, and the lease of its ticks. */
export const engineItems = (engine: string): string => `ENGINE#${engine}`;
/** Running invocations: ids that AWS makes, so nobody knows them before. */
export const INVOCATIONS = "INVOCATION#*";

export const OPEN_INDEX = "open-by-expiry";
export const CHANGE_INDEX = "by-change";
/** A fleet's partition of `OPEN_INDEX`: its invocations. */
export const invocationsOf = (fleet: string): string => `${fleet}#invocations`;
/** An engine's partitions of `OPEN_INDEX`. */
export const openPartitions = (engine: string): string[] => [
  engine,
  `${engine}#unconfirmed`,
  `${engine}#missing`,
];
