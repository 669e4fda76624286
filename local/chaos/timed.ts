/** Injects the planned faults that strike at a time. */
import { setTimeout as delay } from "node:timers/promises";
import type { Random } from "../../functions/core/clock.ts";
import type { EngineHandle } from "../engine/start.ts";
import { createRandom } from "../random.ts";
import type { AgentService } from "./agent-ways.ts";
import type { FaultInjector } from "./fault-injector.ts";
import type { Killer } from "./killer.ts";
import type { FaultKind, Tally } from "./kinds.ts";
import type { TimedFault } from "./plan.ts";
import type { FaultProxy } from "./proxy.ts";

export interface TimedParts {
  readonly seed: number;
  readonly engine: EngineHandle;
  readonly engineProxy: FaultProxy;
  readonly saboteur: FaultInjector;
  readonly killer: Killer;
  readonly tally: Tally;
  /** Where agents run in one. */
  readonly service?: AgentService | undefined;
}

/** Ends requests for the trainer are slow for so long; each of them then takes the fault's seconds. */
const SLOW_WINDOW_MS = 1500;
/** Aborts are rare. */
const SLOW_ABORTS_MS = 8000;
/** How long a kill waits for somebody to kill. */
const KILL_PATIENCE_MS = 3000;

/** Runs until the last fault is over, or the signal fires; resolves when the engine is reachable again. */
export async function injectTimed(
  faults: readonly TimedFault[],
  parts: TimedParts,
  stop: AbortSignal,
): Promise<void> {
  const began = Date.now();
  // One outage of the engine at a time: a restart is not for an engine that is down already.
  let outage = Promise.resolve();
  const running: Promise<void>[] = [];
  for (const fault of faults) {
    if (!(await slept(Math.max(0, began + fault.at - Date.now()), stop))) break;
    if (fault.kind.startsWith("engine-")) outage = outage.then(() => strikeEngine(fault, parts, stop));
    else running.push(strike(fault, parts, stop));
  }
  await Promise.all([outage, ...running]);
  parts.engine.delayAcknowledgements(parts.engine.config.ackSeconds);
  parts.engine.delayResets(undefined);
}

async function strike(fault: TimedFault, parts: TimedParts, stop: AbortSignal): Promise<void> {
  const { kind, seconds } = fault;
  const { service, tally, saboteur } = parts;
  if (kind === "table-throttle" || kind === "table-away") {
    saboteur.throttle(kind, seconds * 1000);
  } else if (kind === "agent-service-killed") {
    service?.kill();
    tally.add(kind);
  } else if (kind === "agent-service-hang") {
    tally.add(kind);
    await service?.hang(seconds * 1000);
  } else await strikeFunction(fault, parts, stop);
}

async function strikeFunction(
  { kind, at, seconds }: TimedFault,
  { engine, killer, seed, tally }: TimedParts,
  stop: AbortSignal,
): Promise<void> {
  if (kind === "kill-waiting") {
    if (engine.inspect().status.startsWith("ENGINE.ROLLING")) engine.forceWeightSync();
    await slept(seconds * 1000, stop);
  }
  if (kind === "kill-lifecycle") await delay(seconds * 1000);
  const random = createRandom("victim", seed, at);
  for (
    const until = Date.now() + KILL_PATIENCE_MS;
    Date.now() < until && !stop.aborted;
    await slept(20, stop)
  ) {
    if (!killed(kind, killer, random)) continue;
    tally.add(kind);
    return;
  }
}

function killed(kind: FaultKind, killer: Killer, random: Random): boolean {
  if (kind === "agent-function-killed") return killer.killAgent(random);
  if (kind === "kill-random" || kind === "kill-waiting") return killer.killRandom(random, kind);
  return killer.killLifecycle("kill-lifecycle");
}

async function strikeEngine(
  { kind, seconds }: TimedFault,
  parts: TimedParts,
  stop: AbortSignal,
): Promise<void> {
  const { engine, engineProxy, tally } = parts;
  if (stop.aborted) return;
  tally.add(kind);
  if (kind === "engine-sync") {
    if (engine.inspect().status.startsWith("ENGINE.ROLLING")) engine.forceWeightSync();
  } else if (kind === "engine-cut-ends") {
    engine.delayAcknowledgements(seconds);
    await slept(SLOW_WINDOW_MS, stop);
    if (engine.inspect().status.startsWith("ENGINE.ROLLING")) engine.forceWeightSync();
    engine.delayAcknowledgements(engine.config.ackSeconds);
  } else if (kind === "engine-crash" || kind === "engine-stopped") {
    await stopAndStart(engine, kind, seconds);
  } else if (kind === "engine-slow-abort") {
    engine.delayResets(seconds);
    await slept(SLOW_ABORTS_MS, stop);
    engine.delayResets(undefined);
  } else if (kind === "engine-slow-end") {
    engine.delayAcknowledgements(seconds);
    await slept(SLOW_WINDOW_MS, stop);
    engine.delayAcknowledgements(engine.config.ackSeconds);
  } else {
    const from = Date.now();
    await engineProxy.down();
    if (kind === "engine-refusing") await slept(seconds * 1000, stop);
    else await engine.restart({ keepState: kind === "engine-restart-kept", downSeconds: seconds });
    await engineProxy.up();
    parts.saboteur.outages.push({ from, to: Date.now() });
  }
}

/** Not cut short by the end of the faults: an engine that stays OFFLINE would end nothing any more. */
async function stopAndStart(
  engine: EngineHandle,
  kind: "engine-crash" | "engine-stopped",
  seconds: number,
): Promise<void> {
  if (engine.inspect().status === "ENGINE.OFFLINE") return;
  if (kind === "engine-stopped") engine.stop();
  else engine.killTrainer();
  const until = Date.now() + 2000 * engine.config.launcherSeconds;
  while (engine.inspect().status !== "ENGINE.OFFLINE" && Date.now() < until) await delay(50);
  await delay(seconds * 1000);
  engine.start();
}

async function slept(ms: number, signal: AbortSignal): Promise<boolean> {
  return await delay(ms, true, { signal }).catch(() => false);
}
