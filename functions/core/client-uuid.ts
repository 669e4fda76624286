/**
 * The engine compares client uuids for equality: one uuid per attempt makes it refuse a stale attempt's end, and one
 * prefix per fleet tells whose an episode is.
 */
export function clientUuid(fleet: string, attemptId: string): string {
  return `${fleet}/${attemptId}`;
}

export function attemptId(invocation: string, serial: number): string {
  return `${invocation}.${serial}`;
}

/** The invocation that an attempt's id names. */
export function invocationOf(attemptId: string): string {
  return attemptId.slice(0, Math.max(0, attemptId.lastIndexOf(".")));
}

/** The fleet, attempt and invocation behind a client uuid; undefined where it is not one of Sortie's. */
export function parseClientUuid(
  uuid: string,
): { fleet: string; attempt: string; invocation: string } | undefined {
  const match = /^([^/]+)\/((.+)\.\d+)$/.exec(uuid);
  if (!match) return undefined;
  const [, fleet = "", attempt = "", invocation = ""] = match;
  return { fleet, attempt, invocation };
}

/** Whether the uuid is of any attempt of this fleet. A fleet's name holds no `/`. */
export function isClientOf(fleet: string, uuid: string): boolean {
  return uuid.startsWith(`${fleet}/`);
}
