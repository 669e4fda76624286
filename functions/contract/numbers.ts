/** Numbers in settings. */
import * as z from "zod";

/** `reason` names the one who sets the bounds, where that is not Sortie. */
export function whole(least: number, most: number, reason = "") {
  const error = `expected a whole number from ${least} to ${most}${reason && ` (${reason})`}`;
  return z.number({ error }).int({ error }).min(least, { error }).max(most, { error });
}

export function atLeast(least: number) {
  const error = `expected a number of at least ${least}`;
  return z.number({ error }).min(least, { error });
}
