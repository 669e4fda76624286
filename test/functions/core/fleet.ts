/** A fleet in one process: the real domain and adapters, on a real table and queue, at the stand-in engine. */
import { CreateQueueCommand, ReceiveMessageCommand, SendMessageCommand } from "@aws-sdk/client-sqs";
import { FreshDispatcher } from "../../../functions/adapters/engine/dispatcher.ts";
import { createChat, createEngine } from "../../../functions/adapters/engine/index.ts";
import { createQueue } from "../../../functions/adapters/queue/client.ts";
import { readDepth } from "../../../functions/adapters/queue/depth.ts";
import { createAbortStore } from "../../../functions/adapters/table/aborts.ts";
import { createAdmissionStore } from "../../../functions/adapters/table/admission.ts";
import { createBatchStore } from "../../../functions/adapters/table/batches.ts";
import { createInvocationStore } from "../../../functions/adapters/table/invocations.ts";
import { createLateResultStore } from "../../../functions/adapters/table/late-results.ts";
import { createRolloutStore } from "../../../functions/adapters/table/rollouts.ts";
import { createUsageStore } from "../../../functions/adapters/table/usage.ts";
import type { Agent } from "../../../functions/contract/agent.ts";
import type { Clock } from "../../../functions/core/clock.ts";
import type { QueueRecord } from "../../../functions/core/queue.ts";
import { runBatch } from "../../../functions/core/rollout/batch.ts";
import type { FleetLimits, Ports } from "../../../functions/core/rollout/context.ts";
import { agentsHere } from "../../../functions/core/rollout/perform-agent.ts";
import { systemClock as clock } from "../../../functions/system-clock.ts";
import type { EngineConfig } from "../../../local/engine/config.ts";
import type { Fault, FaultCall } from "../../../local/engine/faults.ts";
import { startEngine } from "../../../local/engine/start.ts";
import { startQueueServer } from "../../../local/servers/queue-server.ts";
import { createTables, startTableServer } from "../../../local/servers/table-server.ts";
import { stateTable } from "../adapters/table/servers.ts";

const limits: FleetLimits = {
  fleet: "main",
  fleetId: "main",
  engine: "engine-1",
  maxAttempts: 3,
  maxDiscards: 10,
  discardTimeoutSeconds: 240,
  // A test never waits for the engine inside of an invocation.
  claimWaitSeconds: 0,
  minEpisodeSeconds: 30,
  settleMarginSeconds: 20,
  allowUnusualRewards: false,
  stragglerGraceSeconds: undefined,
  heartbeatSeconds: 60,
  maxReceiveCount: 1000,
  messageRetentionDays: 14,
};
const atOnce: Partial<EngineConfig> = {
  batchTasks: 1000,
  repeats: 1,
  slots: 30,
  bootSeconds: 0,
  registerSeconds: 0,
  nextSlotSeconds: 0,
  poolLagSeconds: 0,
};

/** The real time, in which the domain sleeps a hundredth of what it wants. */
const hurried: Clock = { now: clock.now, sleep: (ms, signal) => clock.sleep(ms / 100, signal) };

export interface Run {
  readonly agent: Agent;
  /** Seconds that the function has left when the batch begins. */
  readonly seconds?: number;
  readonly ports?: Partial<Ports>;
  readonly limits?: Partial<FleetLimits>;
}
export type Fleet = Awaited<ReturnType<typeof startFleet>>;

export async function startFleet() {
  const tableServer = await startTableServer();
  await createTables(tableServer, [stateTable]);
  const queueServer = await startQueueServer();
  for (const name of ["queue", "dead"])
    await queueServer.client.send(new CreateQueueCommand({ QueueName: name }));
  const urls = { queueUrl: queueServer.url("queue"), deadLetterQueueUrl: queueServer.url("dead") };
  let fault: ((call: FaultCall) => Fault | undefined) | undefined;
  const standIn = await startEngine({
    clock,
    seed: 1,
    model: () => ({ message: { role: "assistant", content: "4" } }),
    config: atOnce,
    faults: (call) => fault?.(call),
  });
  const dispatcher = new FreshDispatcher();
  const table = { client: tableServer.client, table: "state" };
  const rollouts = createRolloutStore({ ...table, ttlDays: 1 });
  const invocations = createInvocationStore(table);
  const queue = createQueue({ client: queueServer.client, ...urls });
  const logged: string[] = [];
  let serial = 0;

  const ports = (agent: Agent): Ports => ({
    clock: hurried,
    random: Math.random,
    engine: createEngine({ url: standIn.url, clock, dispatcher }),
    rollouts,
    lateResults: createLateResultStore({ ...table, ttlDays: 1 }),
    aborts: createAbortStore(table),
    batches: createBatchStore(table),
    invocations,
    admissions: createAdmissionStore({ ...table, ttlDays: 1 }),
    queue,
    usage: createUsageStore(table),
    agents: agentsHere(agent, (grant) => createChat({ ...grant, dispatcher, clock })),
    log: (_level, message) => void logged.push(message),
    gate: {
      isTripped: async () => false,
      note: async () => undefined,
      check: async () => ({ open: true }),
      closedFor: async () => undefined,
      isProbeDue: async () => false,
    },
    meter: { attempt: () => undefined },
  });
  const receive = async (queueUrl: string, count: number) => {
    const command = { QueueUrl: queueUrl, MaxNumberOfMessages: count, MessageAttributeNames: ["All"] };
    const { Messages = [] } = await queueServer.client.send(new ReceiveMessageCommand(command));
    return Messages;
  };
  return {
    standIn,
    rollouts,
    invocations,
    logged,
    ports,
    setFault: (next: typeof fault) => {
      fault = next;
    },
    async push(...bodies: string[]): Promise<void> {
      for (const MessageBody of bodies)
        await queueServer.client.send(new SendMessageCommand({ QueueUrl: urls.queueUrl, MessageBody }));
    },
    /** Pushes the bodies and receives them again, as the event source does. */
    async deliver(...bodies: string[]): Promise<QueueRecord[]> {
      for (const MessageBody of bodies)
        await queueServer.client.send(new SendMessageCommand({ QueueUrl: urls.queueUrl, MessageBody }));
      return (await receive(urls.queueUrl, bodies.length)).map((message) => ({
        messageId: message.MessageId ?? "",
        receipt: message.ReceiptHandle ?? "",
        body: message.Body ?? "",
        receiveCount: 1,
        sentAt: clock.now(),
        attributes: {},
      }));
    },
    async run(
      records: readonly QueueRecord[],
      { agent, seconds = 900, ports: other, limits: others }: Run,
    ): Promise<string[]> {
      serial += 1;
      const id = `invocation-${serial}`;
      let attempts = 0;
      const nextAttemptNumber = () => {
        attempts += 1;
        return attempts;
      };
      const batch = { id, endsAt: clock.now() + seconds * 1000, memoryMb: 512, nextAttemptNumber };
      return await runBatch(records, batch, { ...ports(agent), ...other }, { ...limits, ...others });
    },
    depth: () => readDepth(queueServer.client, urls.queueUrl),
    /** Takes one dead letter: its body and its reason. */
    async letter() {
      const [message] = await receive(urls.deadLetterQueueUrl, 1);
      return message && { body: message.Body, reason: message.MessageAttributes?.["reason"]?.StringValue };
    },
    async close() {
      dispatcher.destroy();
      await Promise.all([standIn.close(), tableServer.close(), queueServer.close()]);
    },
  };
}
