/** The system that a chaos run torments: the whole local one, on a scale of seconds, behind three proxies. */
import { join } from "node:path";
import { lifecycleVariables, rolloutVariables } from "../../functions/contract/environment-names.ts";
import { fleetsOf, type LocalFleet } from "../job/deployment.ts";
import type { LambdaFunction } from "../lambda/function.ts";
import { synthesise } from "../synth.ts";
import { type System, startSystem } from "../system.ts";
import type { Throttle } from "./check/evidence.ts";
import type { Interceptor } from "./proxy.ts";
import { FaultProxy } from "./proxy.ts";

/** Seconds, unless the name says otherwise. */
export interface Pace {
  readonly heartbeatSeconds: number;
  readonly tickSeconds: number;
  readonly sweepIntervalSeconds: number;
  readonly timeoutSeconds: number;
  readonly discardSeconds: number;
  readonly agentBlockSeconds: number;
}
export const paces = {
  /** Minutes of a deployment are seconds here; what the core has as constants stays real. */
  fast: {
    heartbeatSeconds: 4,
    tickSeconds: 2,
    sweepIntervalSeconds: 0,
    timeoutSeconds: 30,
    discardSeconds: 8,
    agentBlockSeconds: 6,
  },
  /** As deployed, but for a function's time. */
  real: {
    heartbeatSeconds: 20,
    tickSeconds: 60,
    sweepIntervalSeconds: 20,
    timeoutSeconds: 300,
    discardSeconds: 240,
    agentBlockSeconds: 20,
  },
} as const satisfies Record<string, Pace>;

/** The design's two minutes: what dominates, such as the pool's lag and calls that hang, does not scale. */
export const SETTLE_WITHIN_MS = 120_000;
/** Each clock is off by at most so much, where clocks are off. */
export const CLOCKS_OFF_MS = 300_000;

export interface FleetOptions {
  readonly maxEpisodes: number;
  readonly episodesPerInvocation: number;
  readonly pace: Pace;
  readonly throttle?: (Throttle & { readonly repeats: number }) | undefined;
  /** The setting; default: the chaos agent, compiled in. */
  readonly agent?: unknown;
}

/** Builds the functions once for any number of runs: addresses come with each run's environment. */
export async function assemble(outDir: string, options: FleetOptions): Promise<void> {
  await synthesise(outDir, {
    engineUrl: "http://127.0.0.1:1",
    agent: options.agent ?? join(import.meta.dirname, "agent.ts"),
    maxEpisodes: options.maxEpisodes,
    episodesPerInvocation: options.episodesPerInvocation,
    timeoutSeconds: options.pace.timeoutSeconds,
    visibilityMarginSeconds: 1,
    discardEpisodeTimeoutSeconds: options.pace.discardSeconds,
    claimWaitSeconds: 16,
    minEpisodeSeconds: 3,
    settleMarginSeconds: 5,
    retain: false,
    ...(options.throttle && { throttle: options.throttle }),
  });
}

export interface Interceptors {
  readonly engine: readonly Interceptor[];
  readonly table: readonly Interceptor[];
  readonly queue: readonly Interceptor[];
}

export interface SystemUnderFaults {
  readonly system: System;
  readonly fleet: LocalFleet;
  readonly deadLetterQueueUrl: string;
  readonly engineProxy: FaultProxy;
  readonly rollouts: readonly LambdaFunction[];
  readonly lifecycles: readonly LambdaFunction[];
  /** Functions that are agents. */
  readonly agents: readonly LambdaFunction[];
  close(): Promise<void>;
}

export async function startTormented(
  options: {
    assemblyDir: string;
    logFile: string;
    engineUrl: string;
    pace: Pace;
    clocksOff: boolean;
    /** Further variables of the functions. */
    environment: Readonly<Record<string, string>>;
  },
  interceptors: Interceptors,
): Promise<SystemUnderFaults> {
  const { promise: endpoints, resolve } = Promise.withResolvers<System["endpoints"]>();
  const engineProxy = new FaultProxy(options.engineUrl, interceptors.engine);
  const tableProxy = new FaultProxy(
    endpoints.then(({ dynamodb }) => dynamodb),
    interceptors.table,
  );
  const queueProxy = new FaultProxy(
    endpoints.then(({ sqs }) => sqs),
    interceptors.queue,
  );
  const proxies = [engineProxy, tableProxy, queueProxy];
  await Promise.all(proxies.map((proxy) => proxy.up()));
  const environment = {
    [rolloutVariables.engineUrl]: engineProxy.url,
    [rolloutVariables.heartbeatSeconds]: String(options.pace.heartbeatSeconds),
    [rolloutVariables.agentBlockSeconds]: String(options.pace.agentBlockSeconds),
    [lifecycleVariables.sweepIntervalSeconds]: String(options.pace.sweepIntervalSeconds),
    ...(options.clocksOff && { SORTIE_LOCAL_CLOCK_SPREAD_MS: String(CLOCKS_OFF_MS) }),
    ...options.environment,
    AWS_ENDPOINT_URL_DYNAMODB: tableProxy.url,
    AWS_ENDPOINT_URL_SQS: queueProxy.url,
  };
  const { tickSeconds } = options.pace;
  const system = await startSystem({ ...options, tickSeconds, environment });
  resolve(system.endpoints);
  const close = async () => {
    await system.close();
    await Promise.all(proxies.map((proxy) => proxy.close()));
  };
  try {
    return { system, engineProxy, ...partsOf(system), close };
  } catch (error) {
    await close();
    throw error;
  }
}

function partsOf(system: System) {
  const [fleet] = fleetsOf(system);
  if (!fleet) throw new Error("expected a rollout function in the template, found none");
  const of = (variable: string) =>
    [...system.functions].filter(([id]) => {
      const environment = system.wiring.functions.get(id)?.environment ?? {};
      return environment[variable] !== undefined;
    });
  const [id] = of(rolloutVariables.fleet).map(([name]) => name);
  const environment = system.wiring.functions.get(id ?? "")?.environment ?? {};
  return {
    fleet,
    deadLetterQueueUrl: environment[rolloutVariables.deadLetterQueueUrl] ?? "",
    rollouts: of(rolloutVariables.fleet).map(([, lambda]) => lambda),
    lifecycles: of(lifecycleVariables.fleets).map(([, lambda]) => lambda),
    agents: [...system.functions]
      .filter(([name]) => system.wiring.functions.get(name)?.handler === "agent.handler")
      .map(([, lambda]) => lambda),
  };
}
