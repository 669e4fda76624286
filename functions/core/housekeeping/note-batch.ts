/** Keeps what a look at the pool shows of the engine's batch, for when the pool shows it no more. */
import type { PoolInformation } from "../protocol.ts";
import {
  afterClose,
  afterLook,
  type BatchSeen,
  type BatchStore,
  isStillThatOf,
  type PoolLook,
} from "../rollout/batch-seen.ts";
import { isRolling } from "../rollout/locate-episode.ts";

export async function noteBatch(
  batches: BatchStore,
  of: { engine: string; fleet: string; fleetId: string },
  pool: PoolInformation,
  now: number,
): Promise<void> {
  const step = pool.global_step;
  if (typeof step !== "number" || pool.engine_status === null) return;
  const look: PoolLook = { pool, fleetId: of.fleetId, at: now };
  const found = await batches.read(of.fleet, step);
  // Of the engine that the fleet was on before, or none.
  const previous = found?.engine === of.engine ? found : undefined;
  const stale = isRolling(pool.engine_status) && (await closeOneBefore(batches, of, step, look));
  const blank = { engine: of.engine, step, version: found?.version ?? 0, looks: [], changed_at: now };
  const next = afterLook(previous ?? blank, look, !stale);
  if (next !== (previous ?? blank)) await batches.write(of.fleet, found, next);
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
