/** Whether what somebody wants of an engine has come about: for whoever waits for it. Pure. */
import type { Desired, Observed } from "../functions/core/engine-lifecycle/engine-state.ts";
import { isUp, OFFLINE } from "../functions/core/engine-lifecycle/observe-engine.ts";
import { isUnderWay } from "../functions/core/engine-lifecycle/start-record.ts";

/**
 * `not-yet` the next ticks go on with it; `failed` too many starts failed, and nothing more is done; `finished` the
 * training has run its last step.
 */
export type Convergence = "yes" | "not-yet" | "failed" | "finished";

export function convergence(desired: Desired, observed: Observed | undefined): Convergence {
  // No tick has seen this wish yet, or nobody knows how the engine is.
  if (observed?.generation !== desired.generation || observed.unreachable !== undefined) return "not-yet";
  const offline = observed.status === OFFLINE && !isUnderWay(observed);
  if (desired.state === "stopped") return offline ? "yes" : "not-yet";
  if (observed.alarms.some(({ code }) => code === "gave-up")) return "failed";
  if (observed.finished) return "finished";
  const restarts = desired.restart !== undefined && desired.restart !== observed.restarted;
  return isUp(observed.status) && !restarts ? "yes" : "not-yet";
}
