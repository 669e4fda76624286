/** A batch of queue records: its rollouts run at the same time, and none harms its neighbours. */
import { describeError } from "./errors.ts";
import type { FleetLimits, Ports, QueueRecord } from "./ports.ts";
import { type Disposition, type RunningInvocation, runRollout } from "./rollout.ts";
import { EngineWatch } from "./watch.ts";

/** How often a living invocation says so, and for how long it may be silent before it counts as dead. */
export const HEARTBEAT_MS = 60_000;
export const SILENCE_MS = 75_000;

export interface BatchInvocation {
  readonly id: string;
  /** Unix ms when the function's time is up. */
  readonly endsAt: number;
  readonly nextSerial: () => number;
}

/** After an error of ours, not of the rollout's: the table or the queue does not answer. */
const WAIT_AFTER_TROUBLE_SECONDS = 30;

/** Resolves to the message ids that must come back; everything else is done with. */
export async function runBatch(
  records: readonly QueueRecord[],
  batch: BatchInvocation,
  ports: Ports,
  limits: FleetLimits,
): Promise<string[]> {
  const stop = new AbortController();
  const watch = new EngineWatch(ports, limits.stragglerGraceSeconds);
  const invocation = { ...batch, watch, isAlive: (id: string) => isAlive(ports, batch.id, id) };
  try {
    await sayAlive(ports, batch, limits);
    void keepSayingAlive(ports, batch, limits, stop.signal);
    const back = await Promise.all(records.map((record) => dispatch(record, invocation, ports, limits)));
    return back.filter((id) => id !== undefined);
  } catch (error) {
    ports.log("error", "invocation could not begin", { error: describeError(error) });
    await Promise.all(records.map((record) => giveBack(record, WAIT_AFTER_TROUBLE_SECONDS, ports)));
    return records.map((record) => record.messageId);
  } finally {
    watch.stop();
    stop.abort();
    await ports.invocations.done(batch.id).catch(() => undefined);
  }
}

async function isAlive(ports: Ports, self: string, id: string): Promise<boolean> {
  if (id === self) return true;
  const invocation = await ports.invocations.read(id);
  if (!invocation) return false;
  const now = ports.clock.now();
  return now < invocation.alive_at + SILENCE_MS && now < invocation.ends_at;
}

async function sayAlive(ports: Ports, batch: BatchInvocation, limits: FleetLimits): Promise<void> {
  await ports.invocations.alive({
    id: batch.id,
    fleet: limits.fleet,
    alive_at: ports.clock.now(),
    ends_at: batch.endsAt,
  });
}

async function keepSayingAlive(
  ports: Ports,
  batch: BatchInvocation,
  limits: FleetLimits,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    await ports.clock.sleep(HEARTBEAT_MS, signal).catch(() => undefined);
    if (signal.aborted) return;
    await sayAlive(ports, batch, limits).catch((error) =>
      ports.log("warn", "heartbeat failed", { error: describeError(error) }),
    );
  }
}

/** Runs one record to its disposition and carries that out. Resolves to the id of a message that comes back. */
async function dispatch(
  record: QueueRecord,
  invocation: RunningInvocation,
  ports: Ports,
  limits: FleetLimits,
): Promise<string | undefined> {
  const disposition = await runRollout(record, invocation, ports, limits).catch((error): Disposition => {
    ports.log("error", "rollout could not go on", { message: record.messageId, error: describeError(error) });
    return { done: false, delaySeconds: WAIT_AFTER_TROUBLE_SECONDS, because: "trouble" };
  });
  if (disposition.done) {
    await finish(record, ports);
    return undefined;
  }
  ports.log("info", "message deferred", {
    message: record.messageId,
    because: disposition.because,
    seconds: disposition.delaySeconds,
  });
  await giveBack(record, disposition.delaySeconds, ports);
  return record.messageId;
}

/** Deleted now rather than with the batch, so that a crash brings back only what is unfinished. */
async function finish(record: QueueRecord, ports: Ports): Promise<void> {
  await ports.queue.delete(record.receipt).catch((error) =>
    // The event source deletes it with the batch.
    ports.log("warn", "message not deleted yet", { message: record.messageId, error: describeError(error) }),
  );
}

async function giveBack(record: QueueRecord, seconds: number, ports: Ports): Promise<void> {
  await ports.queue.defer(record.receipt, seconds).catch((error) =>
    // It comes back with its visibility timeout instead.
    ports.log("warn", "message not deferred", { message: record.messageId, error: describeError(error) }),
  );
}
