/** One chaos run: rollouts under faults, then peace until everything is settled, then the checks. */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { ChangeMessageVisibilityCommand } from "@aws-sdk/client-sqs";
import { systemClock as clock } from "../../functions/system-clock.ts";
import { createModel } from "../engine/model.ts";
import { type EngineHandle, startEngine } from "../engine/start.ts";
import { AgentService, kindsFor } from "./agent-ways.ts";
import type { Check, Evidence } from "./check/evidence.ts";
import { checkAll, recoveryTimes } from "./check/index.ts";
import type { RecoveryTimes } from "./check/recovery.ts";
import { settledWithin } from "./drain.ts";
import { type LogLine, readItems, readLetters, readLog, trippedWindows } from "./evidence.ts";
import { FaultInjector } from "./fault-injector.ts";
import {
  CLOCKS_OFF_MS,
  type Interceptors,
  paces,
  SETTLE_WITHIN_MS,
  type SystemUnderFaults,
  startTormented,
} from "./fleet.ts";
import { Killer } from "./killer.ts";
import { allKinds, type FaultKind, Tally } from "./kinds.ts";
import type { ChaosOptions } from "./options.ts";
import { Patience } from "./patience.ts";
import { busyMs, makePlan, type Plan } from "./plan.ts";
import { makePushes, type Pushes } from "./pushes.ts";
import { redriveUnanswered, type UnansweredRedrive } from "./redrive.ts";
import { sendPushes } from "./send.ts";
import { INJECTED } from "./task-facts.ts";
import { injectTimed } from "./timed.ts";
import { TokenProxy } from "./token.ts";

export interface ChaosOutcome {
  readonly seed: number;
  readonly checks: readonly Check[];
  readonly faults: readonly [FaultKind, number][];
  readonly recovery: RecoveryTimes;
  readonly evidence: Evidence;
  readonly log: readonly LogLine[];
  readonly logFile: string;
  readonly seconds: { readonly total: number; readonly drain: number };
}

export async function runChaos(options: ChaosOptions): Promise<ChaosOutcome> {
  const began = Date.now();
  const tally = new Tally();
  const plan = makePlan(options);
  const pushes = makePushes({ ...options, run: `chaos-${options.seed}` }, tally);
  const logFile = join(options.directory, `functions-${options.seed}.log`);
  await rm(logFile, { force: true });
  const engine = await startStandIn(options, pushes);
  let killer: Killer | undefined;
  let tormented: SystemUnderFaults | undefined;
  const redeliver = (receipt: string) => void (tormented && makeVisible(tormented, receipt));
  const patience = new Patience();
  const token = asksForToken(options) ? new TokenProxy() : undefined;
  const service = options.agents === "http" ? new AgentService(options.servicePort ?? 0) : undefined;
  const saboteur = new FaultInjector({ plan, tally, killer: () => killer, redeliver });
  try {
    await service?.start();
    tormented = await startTormented(
      {
        assemblyDir: options.assemblyDir,
        logFile,
        engineUrl: engine.url,
        pace: paces[options.realTime ? "real" : "fast"],
        clocksOff: clocksAreOff(options),
        environment: (await token?.up()) ?? {},
      },
      interceptorsOf(options, saboteur, patience, token),
    );
    killer = new Killer(tormented);
    const parts = { tormented, engine, saboteur, patience, killer, tally, plan, pushes, token, service };
    const { drainMs, redriven } = await torment(parts, options);
    const evidence = { ...(await collect(parts, options)), redriven };
    await tormented.close();
    tormented = undefined;
    return await conclude(options, evidence, tally, { logFile, began, drainMs });
  } finally {
    await tormented?.close();
    await Promise.all([service?.close(), token?.close()]);
    await engine.close();
  }
}

interface Parts {
  readonly tormented: SystemUnderFaults;
  readonly engine: EngineHandle;
  readonly saboteur: FaultInjector;
  readonly patience: Patience;
  readonly killer: Killer;
  readonly tally: Tally;
  readonly plan: Plan;
  readonly pushes: Pushes;
  readonly token: TokenProxy | undefined;
  readonly service: AgentService | undefined;
}

interface Peace {
  /** How long peace took to settle all, ms. */
  readonly drainMs: number;
  readonly redriven: UnansweredRedrive | undefined;
}

/** Faults until all is final or their time is over, then peace. */
async function torment(parts: Parts, options: ChaosOptions): Promise<Peace> {
  const { tormented, engine, saboteur, pushes, plan } = parts;
  await options.breaks?.started?.({ tormented, engine, pushes });
  await sendPushes(tormented, pushes.messages);
  const over = new AbortController();
  const end = () => over.abort();
  options.stop?.addEventListener("abort", end, { once: true });
  const timed = injectTimed(plan.timed, { ...options, ...tormented, ...parts }, over.signal);
  const replacement = setTimeout(() => replaceToken(parts), faultMs(options, plan) / 3);
  await settledWithin(parts, options, "faults", faultMs(options, plan));
  over.abort();
  clearTimeout(replacement);
  saboteur.stop();
  await timed;
  const peace = Date.now();
  await settledWithin(parts, options, "drain", options.drainSeconds * 1000);
  const redriven = await redriveOf(parts);
  if (redriven) await settledWithin(parts, options, "drain", options.drainSeconds * 1000);
  const { eventSources, schedules } = tormented.system;
  // Nobody may change anything while the evidence is read.
  await Promise.all([...schedules.values(), ...eventSources.values()].map((invoker) => invoker.stop(3000)));
  return { drainMs: Date.now() - peace, redriven };
}

function replaceToken({ token, tally }: Parts): void {
  if (!token) return;
  token.replace();
  tally.add("engine-token");
}

async function redriveOf({ tormented, pushes, tally }: Parts): Promise<UnansweredRedrive | undefined> {
  const redriven = pushes.runless && (await redriveUnanswered(tormented, pushes.runless));
  if (redriven) tally.add("queue-redrive-unanswered");
  return redriven || undefined;
}

async function collect(parts: Parts, options: ChaosOptions): Promise<Evidence> {
  const { tormented, engine, killer, pushes } = parts;
  const { system, fleet, deadLetterQueueUrl } = tormented;
  return {
    pushed: pushes.keys,
    invalid: pushes.invalid,
    ledger: engine.ledger.entries,
    openAtEngine: engine.inspect().open,
    items: await readItems(system, fleet, pushes.keys),
    letters: await readLetters(system, deadLetterQueueUrl),
    kills: killer.kills,
    guilty: pushes.guilty,
    guiltyAlone: options.guilty !== undefined && options.kinds.length === 0,
    throttle: options.throttle,
    settleWithinMs: SETTLE_WITHIN_MS,
    outages: parts.saboteur.outages,
    clocksOffMs: clocksAreOff(options) ? CLOCKS_OFF_MS : 0,
    costsNothing: options.kinds.length > 0 && options.kinds.every((kind) => costless.has(kind)),
  };
}

async function conclude(
  options: ChaosOptions,
  collected: Evidence,
  tally: Tally,
  { logFile, began, drainMs }: { logFile: string; began: number; drainMs: number },
): Promise<ChaosOutcome> {
  const log = await readLog(logFile);
  const misbehaved = new Set(
    log.filter(({ facts }) => facts["message"] === INJECTED).map(({ facts }) => String(facts["attempt"])),
  );
  const evidence = { ...collected, tripped: trippedWindows(log), misbehaved };
  for (const { facts } of log)
    if (facts["message"] === INJECTED) tally.add(`agent-${facts["ailment"]}` as FaultKind);
    else if (facts["message"] === "clock is off") tally.add("clock-off");
  return {
    seed: options.seed,
    checks: checkAll(evidence),
    faults: tally.counts(),
    recovery: recoveryTimes(evidence),
    evidence,
    log,
    logFile,
    seconds: { total: (Date.now() - began) / 1000, drain: drainMs / 1000 },
  };
}

async function startStandIn(
  { seed, repeats, batchTasks, engineVersion = "newer" }: ChaosOptions,
  { tasks }: Pushes,
): Promise<EngineHandle> {
  return await startEngine({
    clock,
    seed,
    model: createModel({ tasks, seed }),
    config: {
      engineVersion,
      batchTasks,
      repeats,
      bootSeconds: 1,
      registerSeconds: 0.5,
      syncSeconds: 1,
      ackSeconds: 0.05,
      // As a weight sync of minutes is to the two seconds of the real one: or ends of a batch that is over wait for 300 s, and
      // hold the engine's threads.
      statusPollSeconds: 0.1,
      // Of a server with GPUs, not of this machine.
      waitingThreads: 32,
      poolLagSeconds: 1,
      discardCheckSeconds: 1,
      modelSeconds: (random) => 0.2 + random() * 0.8,
    },
  });
}

/** What a healthy episode must survive. */
const costless: ReadonlySet<FaultKind> = new Set(["table-away", "table-first-heartbeat", "clock-off"]);

/** In every second run with all kinds, so that the others are met with clocks that are right as well. */
function clocksAreOff(options: ChaosOptions): boolean {
  return options.kinds.includes("clock-off") && (!hasAllKinds(options) || options.seed % 2 === 0);
}

function hasAllKinds({ kinds, agents = "module" }: ChaosOptions): boolean {
  return kinds.length >= kindsFor(agents, allKinds).length;
}

/** In the runs whose clocks are right. */
function asksForToken(options: ChaosOptions): boolean {
  return options.kinds.includes("engine-token") && (!hasAllKinds(options) || options.seed % 2 === 1);
}

/** A little longer than the plan: what has found nothing to strike by then is not injected. */
function faultMs({ rollouts, minutes, agentSeconds }: ChaosOptions, { timed }: Plan): number {
  const ends = timed.map(({ at, seconds }) => at + seconds * 1000);
  return Math.min(minutes * 60_000, Math.max(busyMs(rollouts, minutes, agentSeconds) * 1.2, ...ends));
}

function interceptorsOf(
  { breaks = {} }: ChaosOptions,
  saboteur: FaultInjector,
  patience: Patience,
  token: TokenProxy | undefined,
): Interceptors {
  return {
    engine: [...(token ? [token.interceptor] : []), saboteur.engine, ...(breaks.engine ?? [])],
    table: [saboteur.table, ...(breaks.table ?? [])],
    queue: [saboteur.queue, patience.interceptor, ...(breaks.queue ?? [])],
  };
}

/** Delivered again at once, while its first delivery still works on it. */
async function makeVisible({ system, fleet }: SystemUnderFaults, receipt: string): Promise<void> {
  await delay(200);
  const facts = { QueueUrl: fleet.queueUrl, ReceiptHandle: receipt, VisibilityTimeout: 0 };
  await system.sqs.send(new ChangeMessageVisibilityCommand(facts)).catch(() => undefined);
}
