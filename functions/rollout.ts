/** The rollout function's handler: an SQS event in, a partial batch response out. */
import type { Context, SQSBatchResponse, SQSEvent, SQSRecord } from "aws-lambda";
import agent from "#agent";
import { createChat, createEngine, installFetch } from "./adapters/engine/index.ts";
import { createQueue, createQueueClient } from "./adapters/queue/client.ts";
import { createTableClient } from "./adapters/table/client.ts";
import { createGateStore } from "./adapters/table/gate.ts";
import { createInvocationStore } from "./adapters/table/invocations.ts";
import { createRolloutStore } from "./adapters/table/rollouts.ts";
import { runBatch } from "./core/batch.ts";
import { FleetGate } from "./core/gate.ts";
import type { Ports, QueueRecord } from "./core/ports.ts";
import { fleetLimits, readRolloutEnvironment } from "./environment.ts";
import { createLog } from "./log.ts";
import { createMeter } from "./meter.ts";
import { systemClock as clock } from "./system-clock.ts";

const environment = readRolloutEnvironment(process.env);
const limits = fleetLimits(environment);
const table = { client: createTableClient(), table: environment.table };
// An agent's own library must not cut a model call that is silent for minutes.
installFetch();

const gates = createGateStore(table);
const shared: Omit<Ports, "log" | "gate"> = {
  clock,
  random: Math.random,
  engine: createEngine({ url: environment.engineUrl, clock }),
  rollouts: createRolloutStore({ ...table, ttlDays: environment.rolloutTtlDays }),
  invocations: createInvocationStore(table),
  queue: createQueue({ client: createQueueClient(), ...environment }),
  meter: createMeter(limits.fleet),
  agents: { agent, start: (grant) => createChat(grant) },
};

let serial = 0;
const nextSerial = () => {
  serial += 1;
  return serial;
};

export async function handler(event: SQSEvent, context: Context): Promise<SQSBatchResponse> {
  const log = createLog({ fleet: limits.fleet, invocation: context.awsRequestId });
  const gate = new FleetGate({ clock, log, gates }, limits.fleet);
  const batch = {
    id: context.awsRequestId,
    endsAt: clock.now() + context.getRemainingTimeInMillis(),
    nextSerial,
  };
  const back = await runBatch(event.Records.map(queueRecord), batch, { ...shared, log, gate }, limits);
  return { batchItemFailures: back.map((itemIdentifier) => ({ itemIdentifier })) };
}

function queueRecord(record: SQSRecord): QueueRecord {
  const texts = Object.entries(record.messageAttributes).flatMap(([name, { stringValue }]) =>
    stringValue === undefined ? [] : [[name, stringValue] as const],
  );
  return {
    messageId: record.messageId,
    receipt: record.receiptHandle,
    body: record.body,
    receiveCount: Number(record.attributes.ApproximateReceiveCount),
    attributes: Object.fromEntries(texts),
  };
}
