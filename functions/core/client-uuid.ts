/**
 * The engine compares client uuids for equality: one uuid per attempt makes it refuse a stale attempt's end, and one
 * prefix per fleet tells whose an episode is.
 */
export function clientUuid(fleetId: string, attemptId: string): string {
  return `${fleetId}/${attemptId}`;
}

/** A fleet's name is unique in its table only, so its id names the table as well: two deployments may share an engine. */
export function fleetIdOf(fleet: string, deployment: string): string {
  return `${fleet}@${deployment}`;
}

/** The fleet's name within its deployment. */
export function fleetNameOf(fleetId: string): string {
  return fleetId.split("@")[0] ?? fleetId;
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
): { fleetId: string; attempt: string; invocation: string } | undefined {
  const match = /^([^/]+)\/((.+)\.\d+)$/.exec(uuid);
  if (!match) return undefined;
  const [, fleetId = "", attempt = "", invocation = ""] = match;
  return { fleetId, attempt, invocation };
}

/** Whether the uuid is of any attempt of this fleet. A fleet's name holds no `/`. */
export function isClientOf(fleetId: string, uuid: string): boolean {
  return uuid.startsWith(`${fleetId}/`);
}
