/**
 * Takes one step. What is about to be sent stands in the table before it is sent, so that whoever comes after a crash
 * knows of it; a call is sent only by the tick that still holds the lease.
 */
import type { Clock } from "../clock.ts";
import type { Log } from "../log.ts";
import type { PoolInformation } from "../protocol.ts";
import { alarmsOf } from "./engine-alarms.ts";
import { type DrivenEngine, type Outcome, outcomeOf } from "./engine-calls.ts";
import { type EngineCode, sendCode } from "./engine-code.ts";
import { messagesToEngine as messages } from "./engine-lines.ts";
import type {
  Desired,
  EngineStateStore,
  LifecycleSettings,
  Observed,
  Step,
  WantedRunning,
} from "./engine-state.ts";
import type { HeldLease } from "./lease.ts";
import { observeEngine } from "./observe-engine.ts";
import type { ObservedKeeper } from "./observed-keeper.ts";
import { settleStart } from "./settle-start.ts";
import { afterCode, afterStart, afterStop, afterSync, START_MS, startIntent } from "./start-record.ts";

export interface DrivePorts {
  readonly clock: Clock;
  readonly engine: DrivenEngine;
  readonly states: EngineStateStore;
  readonly lease: HeldLease;
  readonly log: Log;
  /** Asked only while the engine is up. Null where it cannot be read. */
  pool(): Promise<PoolInformation | null>;
  /** Asked only while the engine is up. Older engines have it not. */
  experimentDir?(): Promise<string | null>;
  /** The zip that is named so. Throws where it is not there, or another. */
  code(code: EngineCode): Promise<Uint8Array>;
  /** When a snapshot last saw the engine answer; undefined where none did. Asked only while it is asked less often. */
  answeredAt?(): Promise<number | undefined>;
  /** Rollouts that wait or run, over the fleets that are not paused; null where that is not known. */
  waiting(): Promise<number | null>;
}

export interface DriveOptions {
  readonly settings: LifecycleSettings;
  /** Unix ms when the function's time is up. */
  readonly endsAt: number;
}

export interface StepRun {
  readonly ports: DrivePorts;
  readonly options: DriveOptions;
  readonly keeper: ObservedKeeper;
  readonly desired: Desired | undefined;
}

const SYNC_MS = 30_000;
const CODE_MS = 120_000;
const STOP_MS = 600_000;
/** What the answer's write and the look after it take. */
const AFTER_CALL_MS = 30_000;
/** A call that would have less time than this is left to the next tick. */
const LEAST_CALL_MS = 10_000;
/** For the engine's status to follow its answer; longer than a status is cached. */
const LOOK_AGAIN_MS = 1000;

const superseded: Step = { kind: "none", reason: "another tick has taken over" };

/** Resolves to the step that was really taken. */
export async function takeStep(run: StepRun, step: Step, next: Observed): Promise<Step> {
  if (step.kind === "stop") return stop(run, step, next);
  if (step.kind === "start" && run.desired?.state === "running") return start(run, run.desired, step, next);
  return (await run.keeper.write(next)) ? step : superseded;
}

async function stop(run: StepRun, step: Step, next: Observed): Promise<Step> {
  const { ports, keeper } = run;
  const intent = { ...next, stopped_at: ports.clock.now() };
  if (!(await keeper.write(intent)) || !maySend(run)) return superseded;
  ports.log("info", messages.stopping, { why: step.reason });
  const outcome = await outcomeOf(() => ports.engine.stop({ timeoutMs: limit(run, STOP_MS) }));
  return finish(run, step, outcome, afterStop(intent, outcome, ports.clock.now()));
}

/** Several calls, one step: code and config alone change nothing, and the engine takes them only while it is OFFLINE. */
async function start(run: StepRun, wanted: WantedRunning, step: Step, next: Observed): Promise<Step> {
  const { ports, keeper, options } = run;
  const { settings } = options;
  if (!(await keeper.write(next)) || !maySend(run)) return superseded;
  ports.log("info", messages.starting, { why: step.reason, config: wanted.hash });
  if (wanted.code !== undefined) {
    const sent = await sendCode(ports, wanted.code, limit(run, CODE_MS));
    if (sent.kind !== "accepted")
      return finish(run, step, sent, afterCode(next, sent, ports.clock.now(), settings));
    if (!maySend(run)) return superseded;
  }
  const synced = await outcomeOf(() =>
    ports.engine.syncConfig(wanted.config, { timeoutMs: limit(run, SYNC_MS) }),
  );
  if (synced.kind !== "accepted")
    return finish(run, step, synced, afterSync(next, synced, ports.clock.now(), settings));
  const intent = { ...next, start: startIntent(wanted, ports.clock.now(), options.endsAt) };
  if (!(await keeper.write(intent))) return superseded;
  if (!maySend(run)) return unsent(run, next);
  const outcome = await outcomeOf(() => ports.engine.start({ timeoutMs: limit(run, START_MS) }));
  return finish(run, step, outcome, afterStart(intent, outcome, ports.clock.now(), settings));
}

/** The intent was recorded, and nothing came of it: nobody has to wait for it. */
async function unsent({ keeper }: StepRun, before: Observed): Promise<Step> {
  await keeper.write(before);
  return superseded;
}

/** Records the answer, then what the engine says of itself. */
async function finish(run: StepRun, step: Step, outcome: Outcome, answered: Observed): Promise<Step> {
  const { ports, keeper, options } = run;
  if (outcome.kind !== "accepted")
    ports.log("warn", `the engine did not ${step.kind}`, { outcome: outcome.kind, words: outcome.words });
  const alarmed = (record: Observed) => ({
    ...record,
    alarms: alarmsOf(record, run.desired, options.settings),
  });
  if (!(await keeper.writeAnswer(alarmed(answered)))) return superseded;
  if (outcome.kind === "unreachable") return step;
  await ports.clock.sleep(LOOK_AGAIN_MS);
  const status = await ports.engine.status();
  const look = { now: ports.clock.now(), status, pool: null, waiting: null };
  const facts = { desired: run.desired, settings: options.settings };
  const seen = settleStart(answered, observeEngine(answered, look, options.settings), facts);
  return (await keeper.write(alarmed(seen))) ? step : superseded;
}

function maySend(run: StepRun): boolean {
  return run.ports.lease.isHeld() && timeLeft(run) >= LEAST_CALL_MS;
}

function timeLeft({ ports, options }: StepRun): number {
  return options.endsAt - ports.clock.now() - AFTER_CALL_MS;
}

/** Milliseconds for a call: its own limit, and no more than the function has. */
function limit(run: StepRun, most: number): number {
  return Math.max(LEAST_CALL_MS, Math.min(most, timeLeft(run)));
}
