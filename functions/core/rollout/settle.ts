/** Brings a claimed episode to its end: ended, aborted, or known lost; and writes down how. */
import { clientUuid, invocationOf } from "../client-uuid.ts";
import { EngineError } from "../errors.ts";
import type { SettleLimits, SettlePorts } from "../ports.ts";
import type { Reason } from "../reasons.ts";
import { lookFor } from "./look.ts";
import { standing, transition } from "./persist.ts";
import { report } from "./report.ts";
import { isOpen, type OpenRolloutItem, type RolloutItem } from "./rollout-item.ts";
import { closed, failed, goneSince, lastAttempt } from "./transitions.ts";

/** The item as it now stands, and whether its episode is settled; if not, the sweep or the next delivery goes on. */
export interface Settled {
  readonly item: RolloutItem;
  readonly settled: boolean;
}

/** Reports the stored result and closes the attempt under the reason that comes of it. */
export async function settleWithResult(
  ports: SettlePorts,
  limits: SettleLimits,
  item: OpenRolloutItem,
  options: { until: number; resumed: boolean },
): Promise<Settled> {
  if (ports.clock.now() > item.attempt.expires_at && item.attempt.gone_since === undefined) {
    const expired = await settleExpired(ports, limits, item, options);
    if (expired) return expired;
  }
  const outcome = await report(ports, limits, item, options);
  if (outcome.decided) {
    // The engine refused what is still ours: it must not stay open.
    const refused = outcome.reason === "invalid-output" || outcome.reason === "engine-refused";
    if (refused) return await settleWithoutResult(ports, limits, item, outcome.reason, outcome.detail);
    return await close(ports, limits, item, outcome.reason, outcome.detail);
  }
  if (outcome.goneSince === undefined || outcome.goneSince === item.attempt.gone_since)
    return { item, settled: false };
  const moved = await transition(ports, item, goneSince(item, outcome.goneSince));
  return { item: standing(moved, item), settled: false };
}

/**
 * As in the reference, an episode past its expiry is aborted instead of ended; unless an end of it was taken. Undefined
 * where the pool may still be about to show that.
 */
async function settleExpired(
  ports: SettlePorts,
  limits: SettleLimits,
  item: OpenRolloutItem,
  options: { resumed: boolean },
): Promise<Settled | undefined> {
  const names = { clientUuid: clientUuid(limits.fleet, item.attempt.id), taskId: item.task_id };
  const sight = await ports.engine.pool().then(
    (pool) => lookFor(item.attempt, names, pool, ports.clock.now()),
    () => "unreadable" as const,
  );
  if (sight === "unreadable") return { item, settled: false };
  if (sight === "ended") return await close(ports, limits, item, "ended");
  if (options.resumed && (sight === "past" || sight === "gone")) return undefined;
  return await settleWithoutResult(ports, limits, item, "expired");
}

/**
 * Closes an attempt that has no result to report. The engine lets anybody abort anything, so the episode is aborted only
 * where the pool has just shown that this attempt holds it.
 */
export async function settleWithoutResult(
  ports: SettlePorts,
  limits: SettleLimits,
  item: OpenRolloutItem,
  reason: Reason,
  detail?: string,
): Promise<Settled> {
  const { attempt } = item;
  const names = { clientUuid: clientUuid(limits.fleet, attempt.id), taskId: item.task_id };
  try {
    const sight = lookFor(attempt, names, await ports.engine.pool(), ports.clock.now());
    if (sight === "ours")
      await ports.engine.abort(names.clientUuid, attempt.episode, { timeoutMs: ABORT_PATIENCE_MS });
    return await close(ports, limits, item, sight === "past" ? pastReason(reason) : reason, detail);
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
    ports.log("warn", "episode could not be aborted yet", { episode: attempt.episode, error: error.message });
    const mayBePending = error.failure === "unclear" && error.call === "abort_episode";
    const pending = mayBePending ? ports.clock.now() : undefined;
    const moved = await transition(ports, item, failed(item, reason, detail, pending));
    return { item: standing(moved, item), settled: false };
  }
}

/** An abort may wait minutes for the trainer; when it is not answered by then, the next look tells what came of it. */
const ABORT_PATIENCE_MS = 10_000;

/** Whatever an agent did in an engine that has left the batch is not the rollout's fault. */
function pastReason(reason: Reason): Reason {
  return reason === "agent-error" || reason === "episode-lost" ? "engine-left-rolling" : reason;
}

/**
 * Settles what another attempt left open: its stored result is reported, an attempt that failed is closed under its own
 * reason, and one that just fell silent under `reason`.
 */
export async function settleLeftover(
  ports: SettlePorts,
  limits: SettleLimits,
  item: OpenRolloutItem,
  options: { reason: Reason; until: number },
): Promise<Settled> {
  const { failure } = item.attempt;
  if (item.state === "reporting" && !failure)
    return await settleWithResult(ports, limits, item, { until: options.until, resumed: true });
  const now = ports.clock.now();
  if (failure?.settling_at !== undefined && now - failure.settling_at < SETTLING_MS)
    return { item, settled: false };
  // Fence first: an attempt that is not dead after all must neither store nor end what is aborted in its name.
  const { reason, detail } = failure ?? { reason: options.reason };
  const fenced = await transition(ports, item, failed(item, reason, detail, now));
  const found = standing(fenced, item);
  if (!fenced.moved || !isOpen(found)) return { item: found, settled: !isOpen(found) };
  return await settleWithoutResult(ports, limits, found, reason, detail);
}

/** Longer than a look and an abort take: of two aborts the second might hit whoever has claimed the episode since. */
const SETTLING_MS = 20_000;

async function close(
  ports: SettlePorts,
  limits: SettleLimits,
  item: OpenRolloutItem,
  reason: Reason,
  detail?: string,
): Promise<Settled> {
  let left = item;
  for (;;) {
    const end = { reason, now: ports.clock.now(), maxAttempts: limits.maxAttempts, detail };
    const next = closed(left, { ...end, withoutPenalty: await ports.gate.isTripped() });
    const moved = await transition(ports, left, next);
    const found = standing(moved, left);
    // Somebody else only noted something on this very attempt: its end is still to be written.
    const stillOpen = isOpen(found) && found.attempt.id === item.attempt.id;
    if (stillOpen && !moved.moved && found.state === left.state && found.stamp !== left.stamp) {
      left = found;
      continue;
    }
    logClosed(ports, item, reason, detail, moved.moved);
    if (moved.moved) await tellClosed(ports, moved.item);
    return { item: found, settled: !stillOpen };
  }
}

/** Only whoever wrote the end tells of it, so that it counts once. */
async function tellClosed(ports: SettlePorts, item: RolloutItem): Promise<void> {
  const last = lastAttempt(item);
  if (!last) return;
  const reward = last.reason === "ended" && typeof last.reward === "number" ? last.reward : undefined;
  const { reason, at, from } = last;
  ports.meter.attempt({ reason, reward, episodeType: item.episode_type, milliseconds: at - from });
  await ports.gate.note(reason, invocationOf(last.id));
}

function logClosed(
  ports: SettlePorts,
  item: OpenRolloutItem,
  reason: Reason,
  detail: string | undefined,
  written: boolean,
): void {
  ports.log(reason === "ended" ? "info" : "warn", `attempt ${reason}`, {
    rollout: item.key,
    attempt: item.attempt.id,
    episode: item.attempt.episode,
    reason,
    ...(detail ? { detail } : {}),
    ...(written ? {} : { overtaken: true }),
  });
}
