/**
 * The sweep settles what dead invocations left open: their rollouts in the table, and episodes that the engine gave to
 * an attempt that nobody remembers. It also confirms ended episodes from the pool.
 */
import { parseClientUuid } from "../client-uuid.ts";
import type { Random } from "../clock.ts";
import { describeError } from "../errors.ts";
import type { PoolInformation } from "../protocol.ts";
import { giveBack, isHeld } from "../rollout/give-back.ts";
import { isAlive } from "../rollout/heartbeat.ts";
import { isDone, isOpen, type RolloutItem } from "../rollout/item.ts";
import { noteBatch } from "../rollout/note-batch.ts";
import { settleLeftover } from "../rollout/settle.ts";
import { clearAway } from "./clear-away.ts";
import { confirm } from "./confirm.ts";
import { lookAtInvocations } from "./invocations.ts";
import { withSharedPool } from "./shared-pool.ts";
import type { OpenRollout, SweepPorts, SweptFleet } from "./sweep-ports.ts";

export interface Swept {
  /** Open rollouts of dead invocations that are settled now. */
  readonly settled: number;
  /** … and that are not yet, since the engine does not tell or answer. */
  readonly unsettled: number;
  /** The unsettled ones by fleet. */
  readonly overdue: ReadonlyMap<string, number>;
  /** Episodes given back that no rollout knew of. */
  readonly orphans: number;
  readonly confirmed: number;
  /** Invocations that run. */
  readonly living: number;
}

/** How many reads of the table are under way at the same time. */
const AT_ONCE = 20;
/** How many rollouts are settled at the same time: each may wait for the engine, on readings that all share. */
const SETTLED_AT_ONCE = 100;

/**
 * Ends soon after `until` (unix ms), whatever hangs: what it has not come to by then counts as unsettled, and the next
 * sweep begins elsewhere.
 */
export async function sweep(ports: SweepPorts, engineName: string, until: number): Promise<Swept> {
  const note = (pool: PoolInformation) => noteBatches(ports, engineName, pool);
  const sharing = { ...ports, engine: withSharedPool(ports.engine, ports.clock, note), writesUntil: until };
  // First of all: the pool may forget its batch at any moment.
  await sharing.engine.pool().catch(() => undefined);
  const open = (await ports.index.openRollouts(engineName)).filter(({ fleet }) => ports.fleets.has(fleet));
  const named = open.map(({ invocation }) => invocation);
  const invocations = await lookAtInvocations(ports, engineName, [...ports.fleets.keys()], named);
  const leftovers = open.filter(({ invocation }) => invocations.isDead(invocation));
  await clearAway(ports, invocations, leftovers, until);
  const seen = new Set<string>();
  const overdue = await settleLeftovers(sharing, rotated(leftovers, ports.random), until, seen);
  const unsettled = [...overdue.values()].reduce((sum, count) => sum + count, 0);
  const isLate = () => ports.clock.now() >= until;
  const pool = isLate() ? undefined : await sharing.engine.pool().catch(() => undefined);
  const orphans = pool ? await giveBackOrphans(ports, engineName, pool, { until, seen }) : 0;
  const confirmed = pool && !isLate() ? await confirm(sharing, engineName, pool, until) : 0;
  const { living } = invocations;
  return { settled: leftovers.length - unsettled, unsettled, overdue, orphans, confirmed, living };
}

/** Whatever goes wrong with it, the sweep goes on. */
async function noteBatches(ports: SweepPorts, engine: string, pool: PoolInformation): Promise<void> {
  for (const [fleet, { limits }] of ports.fleets)
    await noteBatch(ports.batches, { engine, fleet, fleetId: limits.fleetId }, pool, ports.clock.now()).catch(
      (error) => ports.log("warn", "batch could not be noted", { fleet, error: describeError(error, 300) }),
    );
}

/** Those that are not settled, by fleet. `seen` takes the attempts that were looked at. */
async function settleLeftovers(
  ports: SweepPorts,
  leftovers: readonly OpenRollout[],
  until: number,
  seen: Set<string>,
): Promise<Map<string, number>> {
  const overdue = new Map<string, number>();
  const settleOne = async (rollout: OpenRollout) => {
    const settled = ports.clock.now() < until && (await settle(ports, rollout, until, seen));
    if (!settled) overdue.set(rollout.fleet, (overdue.get(rollout.fleet) ?? 0) + 1);
  };
  await inParallel(leftovers, settleOne, SETTLED_AT_ONCE);
  return overdue;
}

/** Begins anywhere, so that those that take all the time of one sweep do not take that of each. */
function rotated<T>(items: readonly T[], random: Random): T[] {
  const first = Math.floor(random() * items.length);
  return [...items.slice(first), ...items.slice(0, first)];
}

/** False while the episode's fate is open. Whatever goes wrong with one rollout does not stop the sweep. */
async function settle(
  ports: SweepPorts,
  open: OpenRollout,
  until: number,
  seen: Set<string>,
): Promise<boolean> {
  const fleet = ports.fleets.get(open.fleet);
  if (!fleet) return false;
  try {
    const item = await ports.rollouts.read(open.fleet, open.key);
    if (!item || !isOpen(item) || item.attempt.invocation !== open.invocation) return true;
    seen.add(item.attempt.id);
    const settlePorts = { ...ports, gate: fleet.gate, meter: fleet.meter };
    const outcome = await settleLeftover(settlePorts, fleet.limits, item, { reason: "crashed", until });
    if (outcome.settled) await release(ports, fleet, outcome.item, item.attempt.receipt);
    return outcome.settled;
  } catch (error) {
    ports.log("error", "rollout could not be settled", { rollout: open.key, error: describeError(error) });
    return false;
  }
}

/** The message need not wait for its visibility timeout: it is done with, or tried again soon. */
async function release(
  ports: SweepPorts,
  fleet: SweptFleet,
  item: RolloutItem,
  receipt: string,
): Promise<void> {
  const call = isDone(item)
    ? fleet.queue.delete(receipt)
    : fleet.queue.defer(receipt, afterCrash(item, ports.random));
  await call.catch((error) =>
    // It has come back already, or comes back with its visibility timeout.
    ports.log("info", "message not released", { rollout: item.key, error: describeError(error, 200) }),
  );
}

/** How far those are spread out that died together twice, in seconds. */
const CRASH_SPREAD_SECONDS = 30;

/**
 * At once after the first crash. From the second on anywhere within half a minute: those that died together run alone by
 * then, and each needs a place for that, which an invocation has few of.
 */
function afterCrash({ history, state }: RolloutItem, random: Random): number {
  if (state === "dead") return 0;
  const crashes = history.filter(({ reason }) => reason === "crashed" || reason === "suspected").length;
  return crashes < 2 ? 0 : Math.round(random() * CRASH_SPREAD_SECONDS);
}

/**
 * An episode is an orphan when its invocation is dead and no open rollout names its attempt. A living invocation may hold
 * one that the index does not show yet, and that idles because the model is slow: what it has really lost, such as a
 * grant whose answer never came, the engine takes back after the discard timeout.
 */
async function giveBackOrphans(
  ports: SweepPorts,
  engineName: string,
  pool: PoolInformation,
  { until, seen }: { until: number; seen: ReadonlySet<string> },
): Promise<number> {
  const running = Object.entries(pool.running_episode_details ?? {});
  const names = new Map([...ports.fleets].map(([name, { limits }]) => [limits.fleetId, name]));
  const ours = running.flatMap(([episode, details]) => {
    const uuid = parseClientUuid(details.client_uuid);
    const fleet = names.get(uuid?.fleetId ?? "");
    return uuid && fleet !== undefined && !seen.has(uuid.attempt)
      ? [{ episode, details, uuid: { ...uuid, fleet } }]
      : [];
  });
  if (ours.length === 0) return 0;
  // Read after the pool: whatever was claimed and stored by then is in the index or will be within seconds.
  const open = await ports.index.openRollouts(engineName);
  const outcomes = await inParallel(ours, async ({ episode, details, uuid }) => {
    if (ports.clock.now() >= until) return false;
    if (await isAlive(ports, uuid.invocation, ports.clock.now())) return false;
    if (await isRemembered(ports, open, uuid)) return false;
    return await giveBackOrphan(ports, details.client_uuid, episode);
  });
  return outcomes.filter((given) => given).length;
}

async function isRemembered(
  ports: SweepPorts,
  open: readonly OpenRollout[],
  uuid: { invocation: string; attempt: string; fleet: string },
): Promise<boolean> {
  const candidates = open.filter(
    ({ invocation, fleet }) => invocation === uuid.invocation && fleet === uuid.fleet,
  );
  const items = await inParallel(candidates, ({ fleet, key }) => ports.rollouts.read(fleet, key));
  return items.some((item) => item?.attempt?.id === uuid.attempt);
}

async function giveBackOrphan(ports: SweepPorts, clientUuid: string, episode: string): Promise<boolean> {
  try {
    // The pool has just shown that this attempt holds it; look again, since some time has passed.
    const askedAt = ports.clock.now();
    const pool = await ports.engine.pool();
    const held = { clientUuid, episode };
    if (!isHeld(held, pool) || !(await giveBack(ports, held, { pool, askedAt }))) return false;
    ports.log("warn", "orphaned episode given back", { episode, client: clientUuid });
    return true;
  } catch (error) {
    ports.log("warn", "orphaned episode not given back yet", { episode, error: describeError(error, 300) });
    return false;
  }
}

async function inParallel<T, R>(
  items: readonly T[],
  work: (item: T) => Promise<R>,
  atOnce = AT_ONCE,
): Promise<R[]> {
  const results: R[] = [];
  for (let start = 0; start < items.length; start += atOnce)
    results.push(...(await Promise.all(items.slice(start, start + atOnce).map(work))));
  return results;
}
