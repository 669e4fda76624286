/**
 * Rollouts in this process: the domain on its real adapters, real queue and table servers, and the stand-in engine
 * (or a server that misbehaves), all on one clock that passes faster than the real one.
 */

import { afterAll, beforeAll, onTestFailed, onTestFinished } from "vitest";
import type { Timeouts } from "../../functions/adapters/engine/call-names.ts";
import { createChat } from "../../functions/adapters/engine/chat.ts";
import { createEngine } from "../../functions/adapters/engine/client.ts";
import { FreshDispatcher } from "../../functions/adapters/engine/dispatcher.ts";
import { createQueue, createQueueClient } from "../../functions/adapters/queue/client.ts";
import { createAbortStore } from "../../functions/adapters/table/aborts.ts";
import { createAdmissionStore } from "../../functions/adapters/table/admission.ts";
import { createBatchStore } from "../../functions/adapters/table/batches.ts";
import { createTableClient } from "../../functions/adapters/table/client.ts";
import { createGateStore } from "../../functions/adapters/table/gate.ts";
import { createInvocationStore } from "../../functions/adapters/table/invocations.ts";
import { createLateResultStore } from "../../functions/adapters/table/late-results.ts";
import { createLifecycleStore } from "../../functions/adapters/table/lifecycle.ts";
import { createRolloutStore } from "../../functions/adapters/table/rollouts.ts";
import { createUsageStore } from "../../functions/adapters/table/usage.ts";
import { createWatchStore } from "../../functions/adapters/table/watch.ts";
import type { Agent } from "../../functions/contract/agent.ts";
import { FleetGate } from "../../functions/core/circuit/gate.ts";
import { type Swept, sweep } from "../../functions/core/housekeeping/sweep.ts";
import type { QueueRecord } from "../../functions/core/queue.ts";
import { representedEngine } from "../../functions/core/representative.ts";
import { runBatch } from "../../functions/core/rollout/batch.ts";
import type { FleetLimits, Ports } from "../../functions/core/rollout/context.ts";
import type { RolloutItem } from "../../functions/core/rollout/item.ts";
import { agentsHere } from "../../functions/core/rollout/perform-agent.ts";
import { deployedFleetId } from "../../functions/environment.ts";
import type { EngineConfig, EngineModel } from "../../local/engine/config.ts";
import type { Faults } from "../../local/engine/faults.ts";
import { type EngineHandle, startEngine } from "../../local/engine/start.ts";
import { type AwsServers, startAwsServers } from "./aws-servers.ts";
import { FastClock } from "./fast-clock.ts";
import { FleetMessages, type QueueUrls } from "./fleet-messages.ts";

export interface FleetFixtureOptions {
  readonly agent?: Agent;
  readonly limits?: Partial<FleetLimits>;
  readonly config?: Partial<EngineConfig>;
  readonly faults?: Faults;
  /** Where the fleet believes its engine to be; by default that is the stand-in. */
  readonly engineUrl?: string;
  /** Milliseconds of real time. */
  readonly timeouts?: Partial<Timeouts>;
  /** How much faster than the real time all pauses pass; 1 where another process takes part. */
  readonly speed?: number;
}

export interface LogLine {
  readonly message: string;
  readonly facts: Readonly<Record<string, unknown>>;
}

const DEFAULT_SPEED = 20;
const limitsOfHouse = {
  maxAttempts: 3,
  maxDiscards: 10,
  discardTimeoutSeconds: 240,
  claimWaitSeconds: 30,
  minEpisodeSeconds: 30,
  settleMarginSeconds: 30,
  allowUnusualRewards: false,
  stragglerGraceSeconds: undefined,
  heartbeatSeconds: 60,
  maxReceiveCount: 1000,
  messageRetentionDays: 14,
};

/** Asks the model once and is content with whatever it says. */
export const askOnce: Agent = async (task, episode) => {
  await episode.chat({ messages: [{ role: "user", content: task.main_query }] });
  return { reward: 1 };
};

/** A question `wait <n>` takes the model n seconds. */
const model: EngineModel = (request) => ({
  message: { role: "assistant", content: "four" },
  seconds: Number(/^wait (\d+)$/.exec(String(request.messages.at(-1)?.content))?.[1] ?? 0),
});

/** Call once at the top of a test file; the function that it returns opens a house with a fleet of its own. */
export function fleetFixtures(): (options?: FleetFixtureOptions) => Promise<FleetFixture> {
  let estate: AwsServers | undefined;
  let count = 0;
  beforeAll(async () => {
    estate = await startAwsServers();
    Object.assign(process.env, estate.environment);
  }, 30_000);
  afterAll(async () => await estate?.close());
  return async (options = {}) => {
    if (!estate) throw new Error("expected an open estate, found none: open houses in tests only");
    count += 1;
    const house = await FleetFixture.open(estate, `fleet-${count}`, options);
    onTestFinished(() => house.close());
    onTestFailed(() => console.log(house.log.map((line) => JSON.stringify(line)).join("\n")));
    return house;
  };
}

/** A fleet with its messages, its engine and its table. */
export class FleetFixture extends FleetMessages {
  readonly fleet: string;
  readonly estate: AwsServers;
  readonly clock: FastClock;
  /** The stand-in. */
  readonly engine: EngineHandle;
  readonly ports: Omit<Ports, "gate">;
  readonly limits: FleetLimits;
  readonly gates: ReturnType<typeof createGateStore>;
  readonly invocations: ReturnType<typeof createInvocationStore>;
  readonly log: LogLine[] = [];
  /** How attempts ended, as metrics. */
  readonly metered: Parameters<Ports["meter"]["attempt"]>[0][] = [];
  readonly #dispatcher = new FreshDispatcher();
  #invocations = 0;
  #serial = 0;

  static async open(estate: AwsServers, fleet: string, options: FleetFixtureOptions): Promise<FleetFixture> {
    const clock = new FastClock(options.speed ?? DEFAULT_SPEED);
    const engine = await startEngine({
      clock,
      seed: 1,
      model,
      config: { batchTasks: 100, slots: 20, bootSeconds: 0, registerSeconds: 0, ...options.config },
      ...(options.faults ? { faults: options.faults } : {}),
    });
    while (engine.inspect().unclaimed === 0) await clock.sleep(50);
    return new FleetFixture(estate, fleet, options, { clock, engine, ...(await estate.fleetQueues(fleet)) });
  }

  private constructor(
    estate: AwsServers,
    fleet: string,
    options: FleetFixtureOptions,
    parts: { clock: FastClock; engine: EngineHandle } & QueueUrls,
  ) {
    super(estate.servers.queues.client, parts);
    const { clock, engine } = parts;
    const dispatcher = this.#dispatcher;
    const table = { client: createTableClient(), table: estate.table };
    this.fleet = fleet;
    this.estate = estate;
    this.clock = clock;
    this.engine = engine;
    const fleetId = deployedFleetId(fleet, estate.table);
    this.limits = { ...limitsOfHouse, fleet, fleetId, engine: `engine-of-${fleet}`, ...options.limits };
    this.gates = createGateStore(table);
    this.invocations = createInvocationStore(table);
    this.ports = {
      clock,
      random: Math.random,
      engine: representedEngine(
        createEngine({
          url: options.engineUrl ?? engine.url,
          clock,
          dispatcher,
          timeouts: options.timeouts ?? {},
        }),
        { fleetId, clock },
      ),
      rollouts: createRolloutStore({ ...table, ttlDays: 1 }),
      lateResults: createLateResultStore({ ...table, ttlDays: 1 }),
      aborts: createAbortStore(table),
      batches: createBatchStore(table),
      invocations: this.invocations,
      admissions: createAdmissionStore({ ...table, ttlDays: 1 }),
      queue: createQueue({ client: createQueueClient(), ...parts }),
      usage: createUsageStore(table),
      agents: agentsHere(options.agent ?? askOnce, (grant) => createChat({ ...grant, dispatcher, clock })),
      log: (_level, message, facts = {}) => this.log.push({ message, facts }),
      meter: { attempt: (facts) => this.metered.push(facts) },
    };
  }

  /** One invocation of the rollout function. Resolves to the ids of the messages that come back. */
  async run(records: readonly QueueRecord[], { seconds = 900, clock = this.clock } = {}): Promise<string[]> {
    this.#invocations += 1;
    const id = `${this.fleet}-invocation-${this.#invocations}`;
    const gate = new FleetGate({ clock, log: this.ports.log, gates: this.gates }, this.fleet);
    const nextAttemptNumber = () => {
      this.#serial += 1;
      return this.#serial;
    };
    const batch = { id, endsAt: clock.now() + seconds * 1000, memoryMb: 512, nextAttemptNumber };
    return await runBatch(records, batch, { ...this.ports, clock, gate }, this.limits);
  }

  /** Receives and runs as many messages in one batch. */
  async deliver(count = 1): Promise<{ records: QueueRecord[]; back: string[] }> {
    const records = await this.receive(count);
    return { records, back: await this.run(records) };
  }

  /** Delivers again what had been deferred, without waiting until its time has come. */
  async deliverAgain(records: readonly QueueRecord[]): Promise<{ records: QueueRecord[]; back: string[] }> {
    await this.release(records);
    return await this.deliver(records.length);
  }

  /** One sweep of the lifecycle function. */
  async sweep(): Promise<Swept> {
    const { clock, log, queue, meter } = this.ports;
    const table = { client: createTableClient(), table: this.estate.table };
    const swept = {
      limits: this.limits,
      gate: new FleetGate({ clock, log, gates: this.gates }, this.fleet),
      queue,
      meter,
    };
    const index = createLifecycleStore({ ...table, snapshotTtlDays: 1 });
    const ports = {
      ...this.ports,
      invocations: this.invocations,
      batches: createBatchStore(table),
      watch: createWatchStore(table),
      index,
      fleets: new Map([[this.fleet, swept]]),
    };
    return await sweep(ports, this.limits.engine, clock.now() + 25_000);
  }

  async item(key: string): Promise<RolloutItem | undefined> {
    return await this.ports.rollouts.read(this.fleet, key);
  }

  /** The facts of every log line with this message. */
  logged(message: string): LogLine["facts"][] {
    return this.log.filter((line) => line.message === message).map(({ facts }) => facts);
  }

  /** Waits for something that other code brings about. */
  async until(isTrue: () => boolean): Promise<void> {
    for (let waits = 0; !isTrue(); waits += 1) {
      if (waits > 1000) throw new Error("expected it within 10 s, and it did not come about");
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  async close(): Promise<void> {
    await this.engine.close();
    await this.#dispatcher.destroy();
  }
}
