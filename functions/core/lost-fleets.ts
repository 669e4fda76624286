/** Whether a deployment would lose a fleet of the one before: its queue would stand, and nobody would read it. */
export interface FleetChange {
  readonly before: readonly string[];
  readonly now: readonly string[];
  /** Given up on purpose. */
  readonly retired: readonly string[];
}

/** Why it is refused, and what to do instead; nothing where no fleet is lost. */
export function lostFleets({ before, now, retired }: FleetChange): string | undefined {
  const lost = before.filter((name) => !now.includes(name) && !retired.includes(name));
  if (lost.length === 0) return undefined;
  const names = lost.join(", ");
  const list = JSON.stringify([...retired, ...lost]);
  return (
    `expected the fleets of the last deployment (${before.join(", ")}), found none named ${names}. A fleet cannot be renamed: ` +
    `its rollouts would stay in a queue that nobody reads. Keep ${names}, add the new name beside it, let the old queue run ` +
    `empty; then take the old fleet out and set retiredFleets to ${list}.`
  );
}
