/**
 * Drives an engine towards what is wanted of it: reads, looks, decides, takes at most one step. Errors never leave it,
 * so that the rest of the tick goes on.
 */

import { describeError } from "../errors.ts";
import type { EngineStatus } from "../protocol.ts";
import { type DriveOptions, type DrivePorts, takeStep } from "./drive-step.ts";
import { messagesToEngine } from "./engine-lines.ts";
import type { Desired, Observed, Step } from "./engine-state.ts";
import { isUp, type Look } from "./observe-engine.ts";
import { ObservedKeeper } from "./observed-keeper.ts";
import { type Faults, reconcile } from "./reconcile.ts";

/** What a tick did. `observed` is what stands in the table now, as far as this tick knows. */
export interface Driven {
  readonly step: Step;
  readonly desired: Desired | undefined;
  readonly observed: Observed | undefined;
}

/** Never throws: what goes wrong is logged. */
export async function driveEngine(ports: DrivePorts, engine: string, options: DriveOptions): Promise<Driven> {
  try {
    return await drive(ports, engine, options);
  } catch (error) {
    const words = describeError(error, 300);
    ports.log("error", "the engine could not be driven", { error: words });
    return {
      step: { kind: "none", reason: `driving failed: ${words}` },
      desired: undefined,
      observed: undefined,
    };
  }
}

async function drive(ports: DrivePorts, engine: string, options: DriveOptions): Promise<Driven> {
  const { settings } = options;
  const [{ desired, unreadable }, observed] = await Promise.all([
    ports.states.readDesired(engine),
    ports.states.readObserved(engine),
  ]);
  if (observed !== undefined && (await backsOff(ports, observed, desired))) {
    const step: Step = { kind: "wait", reason: "the engine cannot be reached: it is asked less often" };
    return { step, desired, observed };
  }
  const faults: Faults = unreadable === undefined ? {} : { "desired-unreadable": unreadable };
  const look = await lookAt(ports, await ports.engine.status());
  const { step, next } = reconcile({ desired, observed, look, settings, faults });
  const keeper = new ObservedKeeper(ports, engine, observed);
  const taken = await takeStep({ ports, options, keeper, desired }, step, next);
  logAlarms(ports, observed, keeper.current ?? next);
  return { step: taken, desired, observed: keeper.current };
}

/** Until the next look is due, what is wanted changes, or a snapshot has seen the engine answer. */
async function backsOff(
  { clock, answeredAt }: DrivePorts,
  observed: Observed,
  desired: Desired | undefined,
): Promise<boolean> {
  const until = observed.unreachable?.look_again_at ?? 0;
  if (clock.now() >= until || (desired?.generation ?? 0) !== observed.generation) return false;
  const answered = await answeredAt?.().catch(() => undefined);
  return answered === undefined || answered <= observed.looked_at;
}

async function lookAt(ports: DrivePorts, status: EngineStatus): Promise<Look> {
  const now = ports.clock.now();
  if (!isUp(status.engine_status)) return { now, status, pool: null, waiting: null };
  const [pool, waiting, experimentDir] = await Promise.all([
    ports.pool().catch(() => null),
    ports.waiting().catch(() => null),
    ports.experimentDir?.().catch(() => undefined),
  ]);
  return { now, status, pool, waiting, experimentDir };
}

function logAlarms(ports: DrivePorts, was: Observed | undefined, next: Observed): void {
  const known = new Set(was?.alarms.map(({ code }) => code));
  for (const { code, text } of next.alarms)
    if (!known.has(code)) ports.log("warn", messagesToEngine.attention, { alarm: code, text });
}
