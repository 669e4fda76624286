/** The rollout function's handler: an SQS event in, a partial batch response out. */
import "./process-guard.ts";

import { fileURLToPath } from "node:url";
import type { Context, SQSBatchResponse, SQSEvent, SQSRecord } from "aws-lambda";
import { createEngine } from "./adapters/engine/index.ts";
import { createQueue, createQueueClient } from "./adapters/queue/client.ts";
import { createAbortStore } from "./adapters/table/aborts.ts";
import { createAdmissionStore } from "./adapters/table/admission.ts";
import { createBatchStore } from "./adapters/table/batches.ts";
import { tableOptions } from "./adapters/table/client.ts";
import { createGateStore } from "./adapters/table/gate.ts";
import { createInvocationStore } from "./adapters/table/invocations.ts";
import { createLateResultStore } from "./adapters/table/late-results.ts";
import { createRolloutStore } from "./adapters/table/rollouts.ts";
import { TableTime } from "./adapters/table/table-time.ts";
import { createUsageStore } from "./adapters/table/usage.ts";
import { transcriptStore } from "./adapters/transcripts/index.ts";
import { FleetGate } from "./core/circuit/gate.ts";
import type { QueueRecord } from "./core/queue.ts";
import { representedEngine } from "./core/representative.ts";
import { runBatch } from "./core/rollout/batch.ts";
import type { Ports } from "./core/rollout/context.ts";
import { Transcripts } from "./core/transcript/transcripts.ts";
import { engineCredentials, engineDispatcher } from "./engine-credentials.ts";
import { fleetLimits, readRolloutEnvironment } from "./environment.ts";
import { createLog } from "./log.ts";
import { createMeter, publishWaited } from "./meter.ts";
import { createTableClock } from "./table-clock.ts";

const environment = readRolloutEnvironment(process.env);
const limits = fleetLimits(environment);
const time = new TableTime();
const clock = createTableClock(time);
const credentials = engineCredentials(environment, clock);
const dispatcher = engineDispatcher(environment.engineUrl, credentials);
const table = tableOptions(environment.table, time);

const gates = createGateStore(table);
const { default: createAgents } = await import("#agent-way");
const agents = await createAgents({
  environment,
  credentials,
  // In the bundle this is the entry itself.
  entry: fileURLToPath(import.meta.url),
  clock,
  offsetMs: () => clock.offsetMs,
  log: createLog({ fleet: limits.fleet }),
});
const transcripts =
  environment.transcripts === undefined
    ? undefined
    : new Transcripts({
        store: transcriptStore(environment.transcripts, process.env),
        clock,
        log: createLog({ fleet: limits.fleet }),
        kept: environment.transcriptsKept,
      });
const shared: Omit<Ports, "log" | "gate" | "engine"> = {
  clock,
  random: Math.random,
  rollouts: createRolloutStore({ ...table, ttlDays: environment.rolloutTtlDays }),
  lateResults: createLateResultStore({ ...table, ttlDays: environment.rolloutTtlDays }),
  aborts: createAbortStore(table),
  batches: createBatchStore(table),
  invocations: createInvocationStore(table),
  admissions: createAdmissionStore({ ...table, ttlDays: environment.rolloutTtlDays }),
  queue: createQueue({ client: createQueueClient(), ...environment }),
  usage: createUsageStore(table),
  meter: createMeter(limits.fleet),
  agents,
  transcripts,
};

let serial = 0;
const nextAttemptNumber = () => {
  serial += 1;
  return serial;
};

export async function handler(event: SQSEvent, context: Context): Promise<SQSBatchResponse> {
  const log = createLog({ fleet: limits.fleet, invocation: context.awsRequestId });
  await clock.adjust(() => gates.read(limits.fleet));
  const gate = new FleetGate({ clock, log, gates }, limits.fleet);
  // Its own: what an earlier invocation asked of the engine is not this one's answer.
  const engine = representedEngine(createEngine({ url: environment.engineUrl, clock, dispatcher }), {
    fleetId: limits.fleetId,
    clock,
  });
  const waited = new WaitedMeter();
  const batch = {
    id: context.awsRequestId,
    endsAt: clock.now() + context.getRemainingTimeInMillis(),
    memoryMb: Number(context.memoryLimitInMB),
    nextAttemptNumber,
    deferred: (record: QueueRecord) => waited.note(record),
  };
  const back = await runBatch(
    event.Records.map(queueRecord),
    batch,
    { ...shared, engine, log, gate },
    limits,
  );
  waited.publish();
  await transcripts?.flush(TRANSCRIPTS_MS);
  return { batchItemFailures: back.map((itemIdentifier) => ({ itemIdentifier })) };
}

/** How long an invocation waits for transcripts that are still on their way. */
const TRANSCRIPTS_MS = 2000;
const WAITED_INTERVAL_MS = 60_000;

/**
 * SQS's own age of the oldest message leaves out those that were received three times or more. One metric line a minute,
 * since an invocation may last as long as a function can.
 */
class WaitedMeter {
  #oldest = Number.POSITIVE_INFINITY;
  #publishedAt = clock.now();

  note({ sentAt }: QueueRecord): void {
    this.#oldest = Math.min(this.#oldest, sentAt);
    if (clock.now() - this.#publishedAt >= WAITED_INTERVAL_MS) this.publish();
  }

  publish(): void {
    if (Number.isFinite(this.#oldest))
      publishWaited(limits.fleet, Math.max(0, (clock.now() - this.#oldest) / 1000));
    this.#oldest = Number.POSITIVE_INFINITY;
    this.#publishedAt = clock.now();
  }
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
    sentAt: Number(record.attributes.SentTimestamp),
    attributes: Object.fromEntries(texts),
  };
}
