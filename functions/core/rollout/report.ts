/**
 * Brings a stored result to the engine: ends the episode, and where the answer leaves it open whether the engine took
 * the reward, looks at the pool before doing anything else.
 */
import { clientUuid } from "../client-uuid.ts";
import { POOL_LAG_MS } from "../engine.ts";
import { EngineError } from "../errors.ts";
import type { PoolInformation } from "../protocol.ts";
import type { Reason } from "../reasons.ts";
import { type BatchSeen, isAnotherBatch, recall } from "./batch-seen.ts";
import type { SettleLimits, SettlePorts } from "./context.ts";
import type { Attempt, OpenRolloutItem } from "./item.ts";
import { type EpisodePresence, locateEpisode } from "./locate-episode.ts";
import { isTrainingOver } from "./training-seen.ts";

/** How the report came out; where nothing is decided yet, `goneSince` and `endSentAt` must be remembered for the next look. */
export type Reported =
  | { decided: true; reason: Reason; detail?: string }
  | { decided: false; detail: string; goneSince?: number | undefined; endSentAt?: number | undefined };

/** Between two looks at an episode that cannot be decided yet. */
const LOOK_INTERVAL_MS = 5000;
/** So often the engine may refuse an end in words that nobody knows before it is believed: they may be a proxy's. */
const UNKNOWN_REFUSALS = 3;
/** How long it takes until a sweep, which comes every 20 s, has noted what a batch had in the end. */
const BATCH_LAG_MS = 25_000;
/** An end that is still ours after so many looks never arrived: the engine takes one end at most, so send it again. */
const LOOKS_BEFORE_RESEND = 2;
/** An end that was left without an answer for so long has most likely arrived, and the engine is at it. */
const UNANSWERED_MS = 10_000;
/**
 * Then it is not sent again before the engine must be done with it (300 s, and a margin for its line and for clocks): a
 * second one would only hang, and hold one of the engine's few threads.
 */
export const END_PENDING_MS = 360_000;

interface Reporting {
  readonly item: OpenRolloutItem;
  /** Unix ms until when this process may go on. */
  readonly until: number;
  /** Whether another process left it. */
  readonly resumed: boolean;
  /** Whether an end may have reached the engine already. */
  maybeSent: boolean;
  goneSince: number | undefined;
  /** When the end was sent that the engine may still be at. */
  endSentAt: number | undefined;
  /** How often the engine refused the end in words that are none of the protocol's. */
  unknownRefusals: number;
  /** What the last answer asked for before the next request, ms. */
  toldMs: number;
}

export async function report(
  ports: SettlePorts,
  limits: SettleLimits,
  item: OpenRolloutItem,
  options: { until: number; resumed: boolean },
): Promise<Reported> {
  const state: Reporting = {
    item,
    until: options.until,
    resumed: options.resumed,
    maybeSent: options.resumed,
    goneSince: item.attempt.gone_since,
    endSentAt: item.attempt.end_sent_at,
    unknownRefusals: 0,
    toldMs: 0,
  };
  // A result that another process stored may have been reported by it: look before sending.
  let look = options.resumed;
  let detail = "";
  for (;;) {
    const step: Reported | "send" = look ? await lookUntilClear(ports, limits, state) : "send";
    if (step !== "send") return step;
    const sent = await sendEnd(ports, limits, state);
    if (sent === "look") look = true;
    else if (sent.decided) return sent;
    else detail = sent.detail;
    if (!(await pause(ports, state))) return undecided(state, detail);
  }
}

async function sendEnd(
  ports: SettlePorts,
  limits: SettleLimits,
  state: Reporting,
): Promise<Reported | "look"> {
  const { attempt, task_id } = state.item;
  const output = attempt.result;
  if (!output) return { decided: true, reason: "crashed", detail: "no result was stored" };
  const sentAt = ports.clock.now();
  try {
    await ports.engine.end(
      {
        client_uuid: clientUuid(limits.fleetId, attempt.id),
        episode_uuid: attempt.episode,
        task_id,
        workflow_output: output,
      },
      { timeoutMs: Math.max(1000, state.until - ports.clock.now()) },
    );
    return { decided: true, reason: "ended" };
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
    const unanswered = error.failure === "unclear" && ports.clock.now() - sentAt >= UNANSWERED_MS;
    state.endSentAt = unanswered ? sentAt : undefined;
    return afterFailedEnd(error, state);
  }
}

function undecided({ goneSince, endSentAt }: Reporting, detail: string): Reported {
  return { decided: false, detail, goneSince, endSentAt };
}

/** Whether the engine may still be at an end that was sent. */
function isPending({ endSentAt }: Reporting, now: number): boolean {
  return endSentAt !== undefined && now - endSentAt < END_PENDING_MS;
}

/**
 * What a failed end means, by the engine's own order of checks (protocol, "End"). Only the engine's words decide: whatever
 * else answers knows nothing of the episode, and a stored reward is not thrown away over it.
 */
function afterFailedEnd(error: EngineError, state: Reporting): Reported | "look" {
  const detail = error.message;
  state.toldMs = error.retryAfterMs ?? 0;
  if (error.failure === "unreachable") return { decided: false, detail };
  if (error.failure === "unclear") {
    state.maybeSent ||= !error.turnedAway;
    return "look";
  }
  // A body that does not validate has not been taken earlier either.
  if (error.status === 422) return { decided: true, reason: "invalid-output", detail };
  if (state.maybeSent) return "look";
  if (/not in rolling state/.test(error.detail))
    return { decided: true, reason: "engine-left-rolling", detail };
  if (/not found|not in claimed status|is claimed by/.test(error.detail))
    return { decided: true, reason: "episode-lost", detail };
  state.unknownRefusals += 1;
  const believed = error.status === undefined || state.unknownRefusals >= UNKNOWN_REFUSALS;
  return believed ? { decided: true, reason: "engine-refused", detail } : "look";
}

/** Looks until the episode's fate is clear, or is still ours and the end never arrived. */
async function lookUntilClear(
  ports: SettlePorts,
  limits: SettleLimits,
  state: Reporting,
): Promise<Reported | "send"> {
  let oursSeen = 0;
  for (;;) {
    const sight = await look(ports, limits, state);
    if (sight === "ours") oursSeen += 1;
    const mayBeSent = oursSeen >= LOOKS_BEFORE_RESEND || !state.maybeSent;
    if (sight === "ours" && mayBeSent && !isPending(state, ports.clock.now())) return "send";
    const verdict = verdictOf(sight, state, ports.clock.now());
    if (verdict) return verdict;
    if (!(await pause(ports, state))) return undecided(state, `looked, and saw it ${sight}`);
  }
}

type Seen = EpisodePresence | "vanished" | "unreadable" | "undelivered" | "training-over";

function verdictOf(sight: Seen, state: Reporting, now: number): Reported | undefined {
  const notOurs = ["lost", "missing", "batch-over", "vanished", "training-over"].includes(sight);
  // An eval end puts the episode up for claiming again and shows nowhere: no longer ours is all there is to see.
  if (notOurs && state.item.episode_type === "eval" && state.maybeSent)
    return { decided: true, reason: "ended" };
  if (sight === "ended") return { decided: true, reason: "ended" };
  if (sight === "lost")
    return { decided: true, reason: "episode-lost", detail: "the engine shows no end of this episode" };
  if (sight === "vanished")
    return { decided: true, reason: "unknown", detail: "the engine shows neither the episode nor its end" };
  if (sight === "undelivered")
    return {
      decided: true,
      reason: "engine-left-rolling",
      detail: "the trainer closed its batch without this end",
    };
  if (sight !== "batch-over" && sight !== "training-over") return undefined;
  if (!state.maybeSent) return { decided: true, reason: "engine-left-rolling" };
  // The pool may still be about to show the end; and where the attempt lives, the next sweep to note the batch's end.
  const lag = state.resumed ? POOL_LAG_MS : BATCH_LAG_MS;
  if (now - (state.goneSince ?? now) < lag) return undefined;
  if (sight === "training-over")
    return { decided: true, reason: "training-lost", detail: "the engine lost the training of this episode" };
  return { decided: true, reason: "unknown", detail: "the engine has left the batch and shows no end" };
}

async function look(ports: SettlePorts, limits: SettleLimits, state: Reporting): Promise<Seen> {
  const { item } = state;
  const names = { clientUuid: clientUuid(limits.fleetId, item.attempt.id), taskId: item.task_id };
  try {
    const pool = await ports.engine.pool();
    const now = ports.clock.now();
    const attempt =
      state.goneSince === undefined ? item.attempt : { ...item.attempt, gone_since: state.goneSince };
    const sight = locateEpisode(attempt, names, pool, now);
    if (sight === "missing" || sight === "batch-over") state.goneSince ??= now;
    else if (sight === "ours") state.goneSince = undefined;
    const vanished = sight === "lost" && state.maybeSent && (await hasVanished(ports, attempt.episode, pool));
    const seen = vanished ? "vanished" : sight;
    const isClear = seen !== "batch-over" && seen !== "vanished";
    if (!state.maybeSent || item.episode_type === "eval" || isClear) return seen;
    return await fromMemory(ports, limits, { attempt, pool, seen });
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
    state.toldMs = error.retryAfterMs ?? 0;
    return "unreadable";
  }
}

/** What earlier readings tell of an end that the pool shows no more; `seen` where they tell nothing. */
async function fromMemory(
  ports: SettlePorts,
  limits: SettleLimits,
  { attempt, pool, seen }: { attempt: Attempt; pool: PoolInformation; seen: Seen },
): Promise<Seen> {
  const batches = await remembered(ports, limits, attempt);
  const memory = recall(attempt, batches);
  if (memory !== "untold") return memory;
  if (seen === "vanished" && isAnotherBatch(batches[0], pool)) return "training-over";
  const training = await ports.batches.trainings.read(limits.fleet);
  return isTrainingOver(attempt, training, pool) ? "training-over" : seen;
}

/** What was seen of the batch before the engine forgot it, and of the next one. */
async function remembered(
  { batches }: SettlePorts,
  { fleet }: SettleLimits,
  { global_step: step }: Attempt,
): Promise<(BatchSeen | undefined)[]> {
  if (step === null) return [];
  return await Promise.all([batches.read(fleet, step), batches.read(fleet, step + 1)]);
}

/**
 * An engine that restarted without its state may be at the same step again: that it shows no end then proves nothing.
 * Only where it still has the episode, unclaimed or somebody else's, has no end of ours been taken.
 */
async function hasVanished(ports: SettlePorts, episode: string, pool: PoolInformation): Promise<boolean> {
  const ended = Object.values(pool.completed_tasks_details).some((episodes) => episodes.includes(episode));
  if (ended || Object.hasOwn(pool.running_episode_details ?? {}, episode)) return false;
  return !(await ports.engine.buffer()).some(({ episode_uuid }) => episode_uuid === episode);
}

/** Waits as long as told, or until the next look; false where this process has no time for that. */
async function pause(ports: SettlePorts, state: Reporting): Promise<boolean> {
  const ms = Math.max(LOOK_INTERVAL_MS, state.toldMs);
  state.toldMs = 0;
  if (ports.clock.now() + ms >= state.until) return false;
  await ports.clock.sleep(ms);
  return true;
}
