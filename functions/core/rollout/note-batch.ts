/** Keeps what a look at the pool shows of the engine's batch, for when the pool shows it no more. */
import type { PoolInformation } from "../protocol.ts";
import {
  afterClose,
  afterLook,
  type BatchSeen,
  type BatchStore,
  isStillThatOf,
  type PoolLook,
} from "./batch-seen.ts";
import { isRolling } from "./locate-episode.ts";
import { afterReading } from "./training-seen.ts";

/**
 * Somebody else may write at the same time: then it is tried once more on what they wrote. `enoughMs`: what was written so
 * short a time ago is enough, unless this look shows what the batch had in the end.
 */
export async function noteBatch(
  batches: BatchStore,
  of: { engine: string; fleet: string; fleetId: string },
  pool: PoolInformation,
  now: number,
  enoughMs = 0,
): Promise<void> {
  const step = pool.global_step;
  if (typeof step !== "number" || pool.engine_status === null) return;
  await noteTraining(batches, of, pool, now);
  const look: PoolLook = { pool, fleetId: of.fleetId, at: now };
  const stale = isRolling(pool.engine_status) && (await closeOneBefore(batches, of, step, look));
  for (let tries = 0; tries < 2; tries += 1)
    if (await noteLook(batches, of, step, { look, stale, enoughMs })) return;
}

/** Where somebody else writes at the same time, they have seen as much. */
async function noteTraining(
  { trainings }: BatchStore,
  { engine, fleet }: { engine: string; fleet: string },
  pool: PoolInformation,
  now: number,
): Promise<void> {
  const previous = await trainings.read(fleet);
  const next = afterReading(previous, engine, pool, now);
  if (next) await trainings.write(fleet, previous, next);
}

/** False where somebody else has written since it was read. */
async function noteLook(
  batches: BatchStore,
  { engine, fleet }: { engine: string; fleet: string },
  step: number,
  { look, stale, enoughMs }: { look: PoolLook; stale: boolean; enoughMs: number },
): Promise<boolean> {
  const found = await batches.read(fleet, step);
  // Of the engine that the fleet was on before, or none.
  const previous = found?.engine === engine ? found : undefined;
  const blank = { engine, step, version: found?.version ?? 0, looks: [], changed_at: look.at };
  const next = afterLook(previous ?? blank, look, !stale);
  if (next === (previous ?? blank)) return true;
  const isEnough = previous !== undefined && look.at - previous.changed_at < enoughMs;
  if (isEnough && next.final === previous.final) return true;
  return await batches.write(fleet, found, next);
}

/** Whether the pool still shows the batch before; then that is what it had in the end. */
async function closeOneBefore(
  batches: BatchStore,
  { engine, fleet }: { engine: string; fleet: string },
  step: number,
  look: PoolLook,
): Promise<boolean> {
  if (Object.keys(look.pool.completed_tasks_details).length === 0) return false;
  const before: BatchSeen | undefined = await batches.read(fleet, step - 1);
  if (before?.engine !== engine || !isStillThatOf(before, look)) return false;
  const closed = afterClose(before, look);
  if (closed !== before) await batches.write(fleet, before, closed);
  return true;
}
