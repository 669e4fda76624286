/** A batch of queue records: its rollouts run at the same time, and none harms its neighbours. */
import { AdmissionController } from "../admission/admission-controller.ts";
import { describeError } from "../errors.ts";
import type { QueueRecord } from "../queue.ts";
import { ClaimLine } from "./claim-line.ts";
import type { FleetLimits, Ports } from "./context.ts";
import { fencedGate, isAlive, PARK_SECONDS, SignsOfLife } from "./heartbeat.ts";
import { NeedWatch } from "./need-watch.ts";
import { OwnReadings } from "./own-readings.ts";
import { Places } from "./places.ts";
import { RecentDurations } from "./recent-durations.ts";
import { Refill } from "./refill.ts";
import { type Disposition, type RunningInvocation, runRollout } from "./run.ts";
import { withinDeliveries } from "./waiting.ts";
import { EngineWatch } from "./watch.ts";

export interface BatchInvocation {
  readonly id: string;
  /** Unix ms when the function's time is up. */
  readonly endsAt: number;
  /** Of the function. */
  readonly memoryMb: number;
  readonly nextAttemptNumber: () => number;
  /** Told of each message that comes back. */
  readonly deferred?: (record: QueueRecord) => void;
}

/** After an error of ours, not of the rollout's: the table or the queue does not answer. */
const WAIT_AFTER_TROUBLE_SECONDS = 30;

/**
 * Runs the records of an event, and further messages where `limits.places` says so. Resolves to the ids of the event's
 * messages that must come back; all others are done with, or put off.
 */
export async function runBatch(
  records: readonly QueueRecord[],
  batch: BatchInvocation,
  given: Ports,
  limits: FleetLimits,
): Promise<string[]> {
  const receipts = records.map(({ receipt }) => receipt);
  const life = new SignsOfLife(given, { ...batch, ...limits, receipts });
  const readings = new OwnReadings(given, limits);
  const ports = { ...given, engine: readings.engine, gate: fencedGate(given.gate, life) };
  const watch = new EngineWatch(ports, limits.stragglerGraceSeconds, limits.spare);
  const invocation = {
    ...batch,
    watch,
    desk: limits.throttle && new AdmissionController(ports, limits, limits.throttle),
    line: new ClaimLine(ports.clock),
    need: limits.spare === undefined ? undefined : new NeedWatch(ports, limits.spare),
    isAlive: async (id: string) => id === batch.id || (await isAlive(ports, id, ports.clock.now())),
    countAttempt: () => life.countAttempt(),
    durations: new RecentDurations(),
  };
  const back = new Set<string>();
  const run = (record: QueueRecord) => dispatch(record, { invocation, life, batch }, ports, limits);
  try {
    await life.begin();
    const places = new Places(limits.places ?? 0);
    const own = records.map(async (record) => {
      if ((await places.hold(run(record))) !== "done") back.add(record.messageId);
    });
    if (limits.places !== undefined)
      await new Refill(ports, { ...batch, places, limits, life, run, durations: invocation.durations }).run();
    await Promise.all(own);
    return [...back];
  } catch (error) {
    ports.log("error", "invocation could not begin", { error: describeError(error) });
    await Promise.all(records.map((record) => giveBack(record, WAIT_AFTER_TROUBLE_SECONDS, ports)));
    return records.map((record) => record.messageId);
  } finally {
    watch.stop();
    await life.end();
  }
}

/** Runs one record to its disposition and carries that out. `trouble`: the table or the queue did not answer. */
async function dispatch(
  record: QueueRecord,
  { invocation, life, batch }: { invocation: RunningInvocation; life: SignsOfLife; batch: BatchInvocation },
  ports: Ports,
  limits: FleetLimits,
): Promise<"done" | "deferred" | "trouble"> {
  const disposition = await runRollout(record, invocation, ports, limits).catch((error): Disposition => {
    ports.log("error", "rollout could not go on", {
      message_id: record.messageId,
      error: describeError(error),
    });
    return { done: false, delaySeconds: WAIT_AFTER_TROUBLE_SECONDS, reason: TROUBLE };
  });
  if (disposition.done) {
    await finish(record, ports);
    life.disposed(record.receipt);
    return "done";
  }
  const { reason, delaySeconds } = disposition;
  const isParked = atTheGate.has(reason) && life.park(record.receipt);
  const wait = isParked ? PARK_SECONDS : delaySeconds;
  const seconds = withinDeliveries(wait, record, limits, ports.clock.now());
  const facts = { message_id: record.messageId, reason, seconds };
  ports.log("info", "message deferred", isParked ? { ...facts, until: "the gate opens" } : facts);
  await giveBack(record, seconds, ports);
  if (!isParked) life.disposed(record.receipt);
  batch.deferred?.(record);
  return reason === TROUBLE ? "trouble" : "deferred";
}
const TROUBLE = "trouble";

/** Nobody knows for how long the gate is closed: such messages are hidden for hours, and shown when it opens. */
const atTheGate: ReadonlySet<string> = new Set(["paused", "circuit-open", "closed"]);

/** Deleted now rather than with the batch, so that a crash brings back only what is unfinished. */
async function finish(record: QueueRecord, ports: Ports): Promise<void> {
  await ports.queue.delete(record.receipt).catch((error) =>
    // The event source deletes it with the batch.
    ports.log("warn", "message not deleted yet", {
      message_id: record.messageId,
      error: describeError(error),
    }),
  );
}

async function giveBack(record: QueueRecord, seconds: number, ports: Ports): Promise<void> {
  await ports.queue.defer(record.receipt, seconds).catch((error) =>
    // It comes back with its visibility timeout instead.
    ports.log("warn", "message not deferred", { message_id: record.messageId, error: describeError(error) }),
  );
}
