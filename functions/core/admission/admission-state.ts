import type { AdmissionState, Place } from "./admission-item.ts";

export function stateOf(
  { global_step, idle_since }: AdmissionState,
  places: Map<string, Place>,
  seen: Set<string>,
): AdmissionState {
  return {
    global_step,
    seen: [...seen],
    places: Object.fromEntries(places),
    ...(idle_since === undefined ? {} : { idle_since }),
  };
}

/** What came to nothing was not seen: else it would pass later, on top of who took its place meanwhile. */
export function drop(key: string, places: Map<string, Place>, seen: Set<string>): void {
  places.delete(key);
  seen.delete(key);
}
