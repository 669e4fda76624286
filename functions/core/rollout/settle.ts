/** Brings a claimed episode to its end: ended, aborted, or known lost; and writes down how. */
import { clientUuid } from "../client-uuid.ts";
import { EngineError } from "../errors.ts";
import type { Reason } from "../reasons.ts";
import { endOrAbort } from "./claim-rules.ts";
import type { SettleLimits, SettlePorts } from "./context.ts";
import { withDiscardHint } from "./discard-hint.ts";
import { giveBack } from "./give-back.ts";
import { isOpen, type OpenRolloutItem } from "./item.ts";
import { locateEpisode } from "./locate-episode.ts";
import { isSameAttempt, recordAttemptEnd, type Settled } from "./record-attempt-end.ts";
import { type Reported, report } from "./report.ts";
import { crashReason, endSent, failed, goneSince, type NextItem, takenOver } from "./transitions.ts";
import { currentItem, writeTransition } from "./write-transition.ts";

export type { Settled } from "./record-attempt-end.ts";

/** Reports the stored result and closes the attempt under the reason that comes of it. */
export async function settleWithResult(
  ports: SettlePorts,
  limits: SettleLimits,
  item: OpenRolloutItem,
  options: { until: number; resumed: boolean },
): Promise<Settled> {
  const age = { expiresAt: item.attempt.expires_at, now: ports.clock.now(), known: true };
  if (endOrAbort(age) === "abort" && !mayBeEnded(item, options.resumed))
    return await settleExpired(ports, limits, item);
  const outcome = await report(ports, limits, item, options);
  if (outcome.decided) {
    // The engine refused what is still ours: it must not stay open.
    const refused = outcome.reason === "invalid-output" || outcome.reason === "engine-refused";
    if (refused) return await settleWithoutResult(ports, limits, item, outcome.reason, outcome.detail);
    return await recordAttemptEnd(ports, limits, item, outcome.reason, detailOf(item, outcome));
  }
  const next = remembered(item, outcome, ports.clock.now());
  if (next === undefined) return { item, settled: false };
  return { item: currentItem(await writeTransition(ports, item, next), item), settled: false };
}

function detailOf({ attempt }: OpenRolloutItem, { reason, detail }: Reported & { decided: true }) {
  if (reason !== "episode-lost" || attempt.result_at === undefined) return detail;
  return withDiscardHint(detail ?? "", attempt, attempt.result_at);
}

/** The item with what the next look must know; undefined where it knows already. */
function remembered(
  item: OpenRolloutItem,
  { goneSince: since, endSentAt }: { goneSince?: number | undefined; endSentAt?: number | undefined },
  now: number,
): NextItem | undefined {
  const { gone_since, end_sent_at } = item.attempt;
  const gone = since === undefined || since === gone_since ? undefined : goneSince(item, since);
  if (endSentAt === undefined || endSentAt === end_sent_at) return gone;
  const sent = endSent(item, endSentAt, now);
  return gone === undefined ? sent : { ...sent, attempt: { ...sent.attempt, gone_since: since } };
}

/**
 * Whether an end may have been sent in time: the engine takes up to five minutes over one, and shows the episode as ours
 * meanwhile. Then it is looked after as any other end: an abort would give the rollout a second reward.
 */
function mayBeEnded({ attempt }: OpenRolloutItem, resumed: boolean): boolean {
  if (attempt.gone_since !== undefined) return true;
  return resumed && attempt.result_at !== undefined && attempt.result_at <= attempt.expires_at;
}

/** As in the reference, an episode past its expiry is aborted instead of ended; unless an end of it was taken. */
async function settleExpired(
  ports: SettlePorts,
  limits: SettleLimits,
  item: OpenRolloutItem,
): Promise<Settled> {
  const names = { clientUuid: clientUuid(limits.fleetId, item.attempt.id), taskId: item.task_id };
  const sight = await ports.engine.pool().then(
    (pool) => locateEpisode(item.attempt, names, pool, ports.clock.now()),
    () => "unreadable" as const,
  );
  if (sight === "unreadable") return { item, settled: false };
  if (sight === "ended") return await recordAttemptEnd(ports, limits, item, "ended");
  return await settleWithoutResult(ports, limits, item, "expired");
}

/**
 * Closes an attempt that has no result to report. The engine lets anybody abort anything, so the episode is aborted only
 * where the pool has just shown that this attempt holds it, and only by whoever has written first that it does so.
 */
export async function settleWithoutResult(
  ports: SettlePorts,
  limits: SettleLimits,
  item: OpenRolloutItem,
  reason: Reason,
  detail?: string,
): Promise<Settled> {
  // Fence first: an attempt that is not dead after all must neither store nor end what is aborted in its name.
  const fence = await writeTransition(ports, item, failed(item, reason, detail, ports.clock.now()));
  const fenced = currentItem(fence, item);
  if (!fence.moved || !isOpen(fenced)) return { item: fenced, settled: !isSameAttempt(fenced, item) };
  const { attempt } = fenced;
  const names = { clientUuid: clientUuid(limits.fleetId, attempt.id), taskId: item.task_id };
  try {
    const askedAt = ports.clock.now();
    const pool = await ports.engine.pool();
    const sight = locateEpisode(attempt, names, pool, ports.clock.now());
    if (sight === "ended" && attempt.result) return await recordAttemptEnd(ports, limits, fenced, "ended");
    const held = { clientUuid: names.clientUuid, episode: attempt.episode };
    if (sight === "ours" && !(await giveBack(ports, held, { pool, askedAt })))
      return await leaveOpen(ports, fenced, { reason, detail });
    return await recordAttemptEnd(
      ports,
      limits,
      fenced,
      sight === "batch-over" ? pastReason(reason) : reason,
      detail,
    );
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
    ports.log("warn", "episode could not be aborted yet", { episode: attempt.episode, error: error.message });
    const mayBePending = error.failure === "unclear" && error.call === "abort_episode";
    const settlingAt = mayBePending ? ports.clock.now() : undefined;
    return await leaveOpen(ports, fenced, { reason, detail, settlingAt });
  }
}

/** For whoever looks next: at once, unless an abort may be under way that the next look would come too early for. */
async function leaveOpen(
  ports: SettlePorts,
  fenced: OpenRolloutItem,
  failure: { reason: Reason; detail: string | undefined; settlingAt?: number | undefined },
): Promise<Settled> {
  const next = failed(fenced, failure.reason, failure.detail, failure.settlingAt);
  return { item: currentItem(await writeTransition(ports, fenced, next), fenced), settled: false };
}

/** Whatever an agent did in an engine that has left the batch is not the rollout's fault. */
function pastReason(reason: Reason): Reason {
  const past: readonly Reason[] = ["agent-error", "model-error", "episode-lost"];
  return past.includes(reason) ? "engine-left-rolling" : reason;
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
  const now = ports.clock.now();
  if (item.state === "reporting" && !failure) {
    // From here on an attempt that is not dead after all may only write that its end was taken, see `close`.
    const taken = await writeTransition(ports, item, takenOver(item, now));
    const found = currentItem(taken, item);
    if (!taken.moved || !isOpen(found)) return { item: found, settled: !isSameAttempt(found, item) };
    return await settleWithResult(ports, limits, found, { until: options.until, resumed: true });
  }
  if (failure?.settling_at !== undefined && now - failure.settling_at < SETTLING_MS)
    return { item, settled: false };
  const silent = options.reason === "crashed" ? crashReason(item) : options.reason;
  const { reason, detail } = failure ?? { reason: silent };
  return await settleWithoutResult(ports, limits, item, reason, detail);
}

/** Longer than a look and the patience with an abort take: two who look at the same time settle nothing sooner. */
const SETTLING_MS = 20_000;
