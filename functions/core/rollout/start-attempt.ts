/** From a rollout to a claimed episode that the table knows of. */
import type { AdmissionController, AdmissionRequest } from "../admission/admission-controller.ts";
import { policyOf } from "../admission/throttle.ts";
import type { Probe } from "../circuit/gate.ts";
import { clientUuid } from "../client-uuid.ts";
import type { Clock } from "../clock.ts";
import { describeError, InvalidMessageError, isUnstorable } from "../errors.ts";
import { evalName } from "../eval-name.ts";
import type { ClaimAnswer, EngineStatus, ThrottlePolicy } from "../protocol.ts";
import type { QueueRecord } from "../queue.ts";
import { type ClaimOutcome, claimEpisode, type Granted } from "./claim.ts";
import type { ClaimLine } from "./claim-line.ts";
import type { FleetLimits, Ports } from "./context.ts";
import { giveBack } from "./give-back.ts";
import { isRound, isWaitedFor } from "./give-ups.ts";
import type { Attempt, RolloutItem } from "./item.ts";
import type { Rollout } from "./message.ts";
import type { NeedWatch } from "./need-watch.ts";
import { firstSeen, opened } from "./transitions.ts";
import { currentItem, writeTransition } from "./write-transition.ts";

export async function claimFor(
  rollout: Rollout,
  attempt: string,
  invocation: {
    endsAt: number;
    desk: AdmissionController | undefined;
    probe: Probe | undefined;
    /** The rollout's item as it was read, and when (unix ms). */
    known: { item: RolloutItem | undefined; at: number };
    line?: ClaimLine | undefined;
    need?: NeedWatch | undefined;
  },
  ports: Ports,
  limits: FleetLimits,
): Promise<ClaimOutcome> {
  const uuid = clientUuid(limits.fleetId, attempt);
  const needed = (limits.minEpisodeSeconds + limits.settleMarginSeconds) * 1000;
  const latest = invocation.endsAt - needed;
  // What came before, such as settling a leftover, may have taken most of the time.
  if (ports.clock.now() > latest) return { kind: "waited-out", reason: "no-time", status: "", detail: "" };
  const request = {
    client_uuid: uuid,
    episode_type: rollout.episodeType,
    discard_episode_timeout: rollout.discardTimeout ?? limits.discardTimeoutSeconds,
    throttle_policy: policyFor(rollout, limits),
  };
  const ticket = rollout.episodeType === "train" ? invocation.desk?.request(rollout.task.task_id) : undefined;
  const turn = ticket && takeTurns(ticket, ports.clock);
  const claim = await claimEpisode(ports.engine, request, {
    clock: ports.clock,
    waitUntil: Math.min(ports.clock.now() + limits.claimWaitSeconds * 1000, latest),
    signal: turn?.over,
    line: invocation.line,
    closed: async () => {
      const detail = await ports.gate.closedFor(invocation.probe);
      if (detail !== undefined) return { reason: "closed", detail };
      return (await isOvertaken(rollout, invocation.known, ports, limits))
        ? { reason: "overtaken", detail: "another delivery of the message has gone on with the rollout" }
        : undefined;
    },
    needed: invocation.need && ((status) => isNeeded(rollout, invocation, status, limits)),
    admission: turn?.ask,
    onUnclearClaim: () => findGrant(uuid, ports),
  });
  if (claim.kind === "waited-out") await ticket?.release();
  const tooLate = ports.clock.now() > latest + (limits.minEpisodeSeconds * 1000) / 2;
  if (claim.kind === "waited-out" && claim.reason === "stopped") return { ...claim, reason: "throttled" };
  if (claim.kind !== "granted" || !tooLate) return claim;
  // The answer took so long that the agent could only fail.
  await giveBackGrant(uuid, claim.grant.episode_uuid, ports);
  return { kind: "waited-out", reason: "no-time", status: "", detail: "" };
}

async function isNeeded(
  rollout: Rollout,
  { need, known }: { need?: NeedWatch | undefined; known: { item: RolloutItem | undefined } },
  status: EngineStatus,
  { spare = 0 }: FleetLimits,
): Promise<"wait" | "defer" | undefined> {
  if (spare > 0 && isWaitedFor(known.item) && !isRound(status.global_step)) return "defer";
  return (await need?.mayStart(rollout.task.task_id, status)) === false ? "wait" : undefined;
}

/** What was read less than so long before a claim still stands, or the write that follows the claim tells. */
const FRESH_MS = 1000;

/**
 * Whether somebody has written to the rollout while this delivery waited: copies of a message wait side by side for the
 * engine, and only one of them shall claim. Where the table cannot tell, nothing is claimed.
 */
async function isOvertaken(
  rollout: Rollout,
  known: { item: RolloutItem | undefined; at: number },
  ports: Ports,
  limits: FleetLimits,
): Promise<boolean> {
  if (ports.clock.now() - known.at < FRESH_MS) return false;
  const found = await ports.rollouts.read(limits.fleet, rollout.key).catch((error) => {
    ports.log("warn", "rollout could not be read before a claim", { error: describeError(error, 300) });
    return "unreadable" as const;
  });
  return found === "unreadable" || found?.stamp !== known.item?.stamp;
}

/** A throttled rollout holds a place in its invocation that a sibling of an admitted task may be waiting for. */
const THROTTLED_PATIENCE_MS = 30_000;

/** Asks for admission, and ends the waiting once the rollout has been refused for too long. */
function takeTurns(ticket: AdmissionRequest, clock: Clock) {
  const over = new AbortController();
  let since: number | undefined;
  const ask = async () => {
    const admission = await ticket.ask();
    const now = clock.now();
    since = admission.admitted ? undefined : (since ?? now);
    if (since !== undefined && now - since >= THROTTLED_PATIENCE_MS) over.abort();
    return admission;
  };
  return { over: over.signal, ask };
}

/** The engine does nothing with the numbers; `AdmissionDesk` is what keeps to them. */
function policyFor(rollout: Rollout, limits: FleetLimits): ThrottlePolicy {
  const { task_id: id } = rollout.task;
  if (rollout.episodeType === "eval") return unlimited(evalName(id));
  return limits.throttle ? policyOf(limits.throttle, id) : unlimited(id);
}

/**
 * Names the task to the engine without limiting anything: only then does the pool tell which attempt ended an episode,
 * and the episode does not keep the task id of its previous holder.
 */
function unlimited(taskId: string): ThrottlePolicy {
  return { ratio: 1.5, expected_batch_size: 1_000_000, expected_num_repeat: 1, current_task_id: taskId };
}

/** An episode that the engine gave away under this attempt's uuid although its answer was lost. */
async function findGrant(uuid: string, ports: Ports): Promise<ClaimAnswer | undefined> {
  const buffer = await ports.engine.buffer();
  const held = buffer.find((episode) => episode.client_uuid === uuid && episode.episode_status === "claimed");
  if (!held) return undefined;
  ports.log("warn", "claim answer was lost, episode found", { episode: held.episode_uuid });
  const { episode_uuid, openai_base_url, openai_api_key } = held;
  if (openai_base_url === "") {
    ports.log("error", "episode has no address that can be used", { episode: episode_uuid });
    await giveBackGrant(uuid, episode_uuid, ports);
    return undefined;
  }
  return { success: true, client_uuid: uuid, episode_uuid, openai_base_url, openai_api_key, fail_cause: "" };
}

/**
 * Records the claimed episode. Whoever finds the rollout taken meanwhile gives the episode back.
 * @throws InvalidMessageError where the table can never hold this rollout
 */
export async function openAttempt(
  rollout: Rollout,
  previous: RolloutItem | undefined,
  claimed: { attempt: string; claim: Granted; record: QueueRecord },
  invocation: { id: string },
  ports: Ports,
  limits: FleetLimits,
): Promise<RolloutItem> {
  const { claim, record } = claimed;
  const attempt: Attempt = {
    id: claimed.attempt,
    invocation: invocation.id,
    episode: claim.grant.episode_uuid,
    global_step: claim.globalStep,
    discard_timeout: rollout.discardTimeout ?? limits.discardTimeoutSeconds,
    claimed_at: claim.claimedAt,
    expires_at: claim.expiresAt,
    receipt: record.receipt,
  };
  const now = ports.clock.now();
  // A fleet may have moved to another engine since: only this one's sweep sees the episode.
  const item = { ...(previous ?? firstSeen(rollout, limits, now)), engine: limits.engine };
  const next = opened(item, attempt, now);
  try {
    const moved = await writeTransition(ports, previous, next);
    const found = currentItem(moved, previous ?? { ...next, stamp: "" });
    if (found.attempt?.id !== attempt.id)
      await giveBackGrant(clientUuid(limits.fleetId, attempt.id), attempt.episode, ports);
    return found;
  } catch (error) {
    await giveBackGrant(clientUuid(limits.fleetId, attempt.id), attempt.episode, ports);
    if (!isUnstorable(error)) throw error;
    throw new InvalidMessageError(`the table cannot hold this rollout (${error.message})`, { cause: error });
  }
}

/**
 * Gives an episode back that was claimed a moment ago and is not in the table. The grant may have come late, and the
 * episode may be somebody else's by now: look first. If that fails, the sweep finds it.
 */
async function giveBackGrant(uuid: string, episode: string, ports: Ports): Promise<void> {
  try {
    const askedAt = ports.clock.now();
    const pool = await ports.engine.pool();
    const held = { clientUuid: uuid, episode };
    const done = await giveBack(ports, held, { pool, askedAt }, { isOwnGrant: true });
    if (!done) ports.log("warn", "episode is left to the engine's discard", { episode });
  } catch (error) {
    ports.log("warn", "episode could not be given back", { episode, error: describeError(error) });
  }
}
