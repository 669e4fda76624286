/** The lifecycle function's handler: the schedule calls it once a minute, one at a time. */
import type { Context } from "aws-lambda";
import { createEngine } from "./adapters/engine/index.ts";
import { createMessages, createQueueClient } from "./adapters/queue/client.ts";
import { readDepth } from "./adapters/queue/depth.ts";
import { createAbortStore } from "./adapters/table/aborts.ts";
import { createBatchStore } from "./adapters/table/batches.ts";
import { tableOptions } from "./adapters/table/client.ts";
import { createEngineLinesStore } from "./adapters/table/engine-lines.ts";
import { createEngineNames } from "./adapters/table/engine-names.ts";
import { createGateStore } from "./adapters/table/gate.ts";
import { createInvocationStore } from "./adapters/table/invocations.ts";
import { createLifecycleStore } from "./adapters/table/lifecycle.ts";
import { createRolloutStore } from "./adapters/table/rollouts.ts";
import { TableTime } from "./adapters/table/table-time.ts";
import { createUsageStore } from "./adapters/table/usage.ts";
import { createWatchStore } from "./adapters/table/watch.ts";
import { FleetGate } from "./core/circuit/gate.ts";
import { LinesExchange, tellingEngine } from "./core/engine-lifecycle/engine-lines.ts";
import { withFormerEngines } from "./core/housekeeping/former-engines.ts";
import type { SweptFleet } from "./core/housekeeping/sweep-ports.ts";
import type { FleetQueue } from "./core/housekeeping/take-snapshot.ts";
import { tick } from "./core/housekeeping/tick.ts";
import type { Log } from "./core/log.ts";
import { keepBudget, readSpend } from "./core/spend/budget.ts";
import { within } from "./core/within.ts";
import { createDrive } from "./drive.ts";
import { engineCredentials, engineDispatcher } from "./engine-credentials.ts";
import { deployedFleetId, readLifecycleEnvironment } from "./environment.ts";
import { createLog } from "./log.ts";
import { createMeter, publishSnapshot } from "./meter.ts";
import { createTableClock } from "./table-clock.ts";

const environment = readLifecycleEnvironment(process.env);
const time = new TableTime();
const clock = createTableClock(time);
const dispatcher = engineDispatcher(environment.engineUrl, engineCredentials(environment, clock));
const queues = createQueueClient();
const table = tableOptions(environment.table, time);
const store = withFormerEngines(
  {
    store: createLifecycleStore({ ...table, snapshotTtlDays: environment.snapshotTtlDays }),
    names: createEngineNames(table),
    log: createLog({ engine: environment.engine }),
  },
  [...environment.fleets.map(({ name }) => name), ...environment.retiredFleets],
);
const rollouts = createRolloutStore({ ...table, ttlDays: environment.rolloutTtlDays });
const aborts = createAbortStore(table);
const batches = createBatchStore(table);
const invocations = createInvocationStore(table);
const watch = createWatchStore(table);
const gates = createGateStore(table);
const usage = createUsageStore(table);
const lineStore = createEngineLinesStore(table);
const lines = new LinesExchange(environment.engine);

const fleets: FleetQueue[] = environment.fleets.map(
  ({ name, queueUrl, deadLetterQueueUrl, budgetUsdPerDay }) => ({
    name,
    gate: () => gates.read(name),
    spend: () => readSpend({ clock, usage }, name, budgetUsdPerDay),
    depths: async () => {
      const [queue, dead] = await Promise.all([
        readDepth(queues, queueUrl),
        readDepth(queues, deadLetterQueueUrl),
      ]);
      return { queue, deadLetters: dead.visible + dead.in_flight + dead.delayed };
    },
  }),
);

export async function handler(_event: unknown, context: Context): Promise<{ at?: string; status?: string }> {
  const log = tellingEngine(
    createLog({ engine: environment.engine, invocation: context.awsRequestId }),
    lines,
  );
  await clock.adjust(() => watch.read(environment.engine));
  const endsAt = clock.now() + context.getRemainingTimeInMillis();
  // Its own: what an earlier tick asked of the engine is not this one's answer.
  const engine = createEngine({ url: environment.engineUrl, clock, dispatcher });
  const drive = createDrive(environment, { table, engine, fleets, clock });
  const snapshot = await tick(
    {
      clock,
      log,
      within: (ms, work) => within(clock, ms, work),
      publish: publishSnapshot,
      drive: () => drive.step(log, context.awsRequestId, endsAt),
      agree: () => drive.agree(log),
      lines: {
        begin: () => lines.begin({ clock, log, engine, store: lineStore }),
        end: () => lines.end({ clock }),
      },
      sweep: {
        clock,
        log,
        random: Math.random,
        engine,
        rollouts,
        aborts,
        batches,
        invocations,
        watch,
        usage,
        index: store,
        fleets: sweptFleets(log),
      },
      budget: () => keepBudgets(log),
      snapshot: {
        clock,
        log,
        engine,
        store,
        fleets,
        observed: drive.observed,
        scheduleMinutes: environment.scheduleMinutes,
      },
    },
    environment,
  );
  return snapshot ? { at: snapshot.at, status: snapshot.status.engine_status } : {};
}

async function keepBudgets(log: Log): Promise<void> {
  for (const fleet of fleets)
    await keepBudget({ clock, log, gates, usage }, fleet.name, await fleet.spend(), await fleet.gate());
}

function sweptFleets(log: Log): ReadonlyMap<string, SweptFleet> {
  const shared = (name: string, maxAttempts: number) => ({
    limits: { fleet: name, fleetId: deployedFleetId(name, environment.table), maxAttempts },
    meter: createMeter(name),
    gate: new FleetGate({ clock, log, gates }, name),
  });
  return new Map([
    ...environment.retiredFleets.map(
      (name) => [name, { ...shared(name, NEVER_DEAD), queue: noQueue }] as const,
    ),
    ...environment.fleets.map((fleet) => {
      const queue = createMessages({ client: queues, ...fleet });
      return [fleet.name, { ...shared(fleet.name, fleet.maxAttempts), queue }] as const;
    }),
  ]);
}

/** A fleet that was given up makes no dead letters: nobody receives its messages any more, which stay in its queue. */
const NEVER_DEAD = Number.MAX_SAFE_INTEGER;
const noQueue: SweptFleet["queue"] = {
  defer: async () => undefined,
  show: async () => undefined,
  delete: async () => undefined,
};
