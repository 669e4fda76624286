/** Deliveries that a message may use up with short waits before it has to make them last. */
export const SHORT_WAITS = 100;

/** Waiting costs deliveries: they must last as long as SQS keeps the message, one an hour at the least. */
export function leastDeliveries(retentionDays: number): number {
  return Math.ceil(retentionDays * 24) + SHORT_WAITS;
}
