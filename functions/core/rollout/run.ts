/** The story of one rollout: record → rollout → claim → agent → result → end → record. Read `runDecoded` first. */
import type { AdmissionController } from "../admission/admission-controller.ts";
import { attemptId, clientUuid } from "../client-uuid.ts";
import { InvalidMessageError, isUnstorable } from "../errors.ts";
import type { ClaimAnswer } from "../protocol.ts";
import type { QueueRecord } from "../queue.ts";
import type { Recording } from "../transcript/transcripts.ts";
import { type AgentEnd, runAgent } from "./agent.ts";
import type { ClaimOutcome, Granted } from "./claim.ts";
import type { ClaimLine } from "./claim-line.ts";
import type { FleetLimits, Ports } from "./context.ts";
import { deadLetter } from "./dead-letter.ts";
import { withDiscardHint } from "./discard-hint.ts";
import { fitOutput } from "./fit-output.ts";
import { isWaitedFor } from "./give-ups.ts";
import { isDone, isFinal, isOpen, isSentAgain, type OpenRolloutItem, type RolloutItem } from "./item.ts";
import { tellLateResult } from "./late-result.ts";
import { decodeMessage, type Rollout } from "./message.ts";
import { activityAtEngine } from "./model-activity.ts";
import type { NeedWatch } from "./need-watch.ts";
import type { RecentDurations } from "./recent-durations.ts";
import { sendDeadLetter } from "./send-dead-letter.ts";
import { settleLeftover, settleWithoutResult, settleWithResult } from "./settle.ts";
import { claimFor, openAttempt } from "./start-attempt.ts";
import { boundedReason, lastAttempt, withResult } from "./transitions.ts";
import { WAIT_FOR_OPEN_ATTEMPT_SECONDS, waitAfterAttempt, waitAlone, waitInQueue } from "./waiting.ts";
import type { EngineWatch } from "./watch.ts";
import { currentItem, writeTransition } from "./write-transition.ts";

/** What becomes of the message: it is done with, or comes back after so many seconds. */
export type Disposition = { done: true } | { done: false; delaySeconds: number; reason: string };

/** The invocation that runs the rollout. Times are unix ms. */
export interface RunningInvocation {
  readonly id: string;
  readonly endsAt: number;
  readonly watch: EngineWatch;
  /** Where train rollouts of a throttled fleet ask before they claim. */
  readonly desk: AdmissionController | undefined;
  /** Where its rollouts wait for an episode. */
  readonly line: ClaimLine;
  /** Whether the engine's batch needs them. Absent: they start as the engine offers episodes. */
  readonly need: NeedWatch | undefined;
  /** A number that this process has not given out before. */
  readonly nextAttemptNumber: () => number;
  /** Whether the invocation behind an attempt still says that it lives. */
  readonly isAlive: (id: string) => Promise<boolean>;
  /** Told of each episode that is claimed. */
  readonly countAttempt: () => void;
  /** How long its episodes took. */
  readonly durations: RecentDurations;
}

const DONE: Disposition = { done: true };

export async function runRollout(
  record: QueueRecord,
  invocation: RunningInvocation,
  ports: Ports,
  limits: FleetLimits,
): Promise<Disposition> {
  try {
    return await runDecoded(decodeMessage(record.body, record.messageId), record, invocation, ports, limits);
  } catch (error) {
    if (!(error instanceof InvalidMessageError)) throw error;
    return await buryMessage(record, error, ports, limits);
  }
}

async function runDecoded(
  rollout: Rollout,
  record: QueueRecord,
  invocation: RunningInvocation,
  ports: Ports,
  limits: FleetLimits,
): Promise<Disposition> {
  const previous = await settledSoFar(rollout, invocation, ports, limits);
  if (previous && (isFinal(previous) || isOpen(previous) || isSentAgain(previous)))
    return await conclude(previous, record, ports, limits);

  const place = runsAlone(previous) ? ports.agents.reserve() : undefined;
  if (runsAlone(previous) && !place)
    return { done: false, delaySeconds: waitAlone(ports.random), reason: "alone" };
  try {
    return await runAttempt(rollout, previous, record, invocation, ports, limits);
  } finally {
    place?.release();
  }
}

/** What its agent did before may have harmed others. */
function runsAlone(item: RolloutItem | undefined): boolean {
  return (item?.suspected ?? 0) > 0;
}

async function runAttempt(
  rollout: Rollout,
  previous: RolloutItem | undefined,
  record: QueueRecord,
  invocation: RunningInvocation,
  ports: Ports,
  limits: FleetLimits,
): Promise<Disposition> {
  const known = { item: previous, at: ports.clock.now() };
  const decision = await ports.gate.check();
  if (!decision.open) return { done: false, delaySeconds: decision.seconds, reason: decision.reason };
  const attempt = attemptId(invocation.id, invocation.nextAttemptNumber());
  const turn = { ...invocation, probe: decision.probe, known };
  const claim = await claimFor(rollout, attempt, turn, ports, limits);
  if (claim.kind !== "granted") {
    await decision.probe?.giveBack();
    if (claim.kind === "waited-out" && claim.reason === "overtaken")
      return await afterOvertaken(rollout, record, ports, limits);
    return waitedOut(claim, record, ports);
  }

  invocation.countAttempt();
  const open = await openAttempt(rollout, previous, { attempt, claim, record }, invocation, ports, limits);
  if (!isOpen(open) || open.attempt.id !== attempt) return await conclude(open, record, ports, limits);

  const { openai_api_key: apiKey } = claim.grant;
  const recording = ports.transcripts?.begin(open, { apiKey, question: rollout.task.main_query });
  const end = await workOnEpisode(
    rollout,
    open,
    { grant: claim.grant, recording },
    invocation,
    ports,
    limits,
  );
  const settled = await settleAfterAgent(open, end, invocation, ports, limits);
  recording?.end(settled);
  invocation.line.ended();
  invocation.durations.add(ports.clock.now() - claim.claimedAt);
  return await conclude(settled, record, ports, limits);
}

/** Another delivery of the same message has gone on with the rollout while this one waited. */
async function afterOvertaken(
  rollout: Rollout,
  record: QueueRecord,
  ports: Ports,
  limits: FleetLimits,
): Promise<Disposition> {
  const found = await ports.rollouts.read(limits.fleet, rollout.key);
  if (found) return await conclude(found, record, ports, limits);
  return { done: false, delaySeconds: waitInQueue("overtaken", 1, ports.random), reason: "overtaken" };
}

/** A message that is no rollout goes to the dead letters at once. */
async function buryMessage(
  record: QueueRecord,
  error: InvalidMessageError,
  ports: Ports,
  limits: FleetLimits,
): Promise<Disposition> {
  const facts = { reason: "invalid-message" as const, error: error.message, fleet: limits.fleet };
  await ports.queue.sendDeadLetter(deadLetter(record, facts, ports.clock.now()));
  ports.log("error", "message is no rollout", { message_id: record.messageId, error: error.message });
  return DONE;
}

/** What the table knows of the rollout, after settling what a dead attempt left open. */
async function settledSoFar(
  rollout: Rollout,
  invocation: RunningInvocation,
  ports: Ports,
  limits: FleetLimits,
): Promise<RolloutItem | undefined> {
  const item = await ports.rollouts.read(limits.fleet, rollout.key);
  if (!item || !isOpen(item)) return item;
  const working = item.attempt.failure === undefined && (await invocation.isAlive(item.attempt.invocation));
  if (working) return item;
  const latest = invocation.endsAt - limits.settleMarginSeconds * 1000;
  const until = Math.min(latest, ports.clock.now() + LEFTOVER_PATIENCE_MS);
  return (await settleLeftover(ports, limits, item, { reason: "crashed", until })).item;
}

/** What cannot be settled by then is deferred: waiting in the queue is cheaper, and the sweep looks at it too. */
const LEFTOVER_PATIENCE_MS = 30_000;

function waitedOut(claim: Exclude<ClaimOutcome, Granted>, record: QueueRecord, ports: Ports): Disposition {
  const reason = claim.kind === "waited-out" ? claim.reason : "engine-error";
  return {
    done: false,
    delaySeconds: Math.max(waitInQueue(reason, record.receiveCount, ports.random), toldToWait(claim)),
    reason,
  };
}

/** Seconds that the last answer asked for, if it did. */
function toldToWait(claim: Exclude<ClaimOutcome, Granted>): number {
  if (claim.kind === "waited-out") return claim.retryAfterSeconds ?? 0;
  return Math.ceil((claim.error.retryAfterMs ?? 0) / 1000);
}

async function workOnEpisode(
  rollout: Rollout,
  open: OpenRolloutItem,
  { grant, recording }: { grant: ClaimAnswer; recording: Recording | undefined },
  invocation: RunningInvocation,
  ports: Ports,
  limits: FleetLimits,
): Promise<AgentEnd> {
  const { attempt } = open;
  const controller = new AbortController();
  const names = { clientUuid: clientUuid(limits.fleetId, attempt.id), taskId: rollout.task.task_id };
  const unwatch = invocation.watch.add({ attempt, controller, ...names, isWaitedFor: isWaitedFor(open) });
  const log: Ports["log"] = (level, message, facts) => {
    recording?.log(level, message, facts);
    ports.log(level, message, { ...facts, rollout: open.key, attempt: attempt.id, episode: attempt.episode });
  };
  try {
    const end = await runAgent(ports, {
      rollout,
      attempt,
      grant,
      controller,
      log,
      alone: runsAlone(open),
      deadline: Math.min(attempt.expires_at, invocation.endsAt - limits.settleMarginSeconds * 1000),
      allowUnusualRewards: limits.allowUnusualRewards,
      record: recording?.call,
    });
    recording?.returned(
      end.kind === "output" ? fitOutput(end.output).output : undefined,
      end.calls !== undefined,
    );
    return end;
  } finally {
    unwatch();
  }
}

/** The result is stored before it is reported, so that a crash in between loses nothing and repeats nothing. */
async function settleAfterAgent(
  open: OpenRolloutItem,
  end: AgentEnd,
  invocation: RunningInvocation,
  ports: Ports,
  limits: FleetLimits,
): Promise<RolloutItem> {
  if (end.kind === "failed") {
    const reason = boundedReason(open, end.reason, limits);
    return (await settleWithoutResult(ports, limits, open, reason, failureOf(end, open, ports))).item;
  }
  const activity = end.calls === undefined ? await activityAtEngine(ports, open.attempt.episode) : end;
  if (activity.calls === 0)
    ports.log("warn", "agent made no model call: the trainer drops such an episode", {
      rollout: open.key,
      episode: open.attempt.episode,
    });
  const { output, shortened } = fitOutput(end.output);
  if (shortened.length > 0)
    ports.log("warn", "result shortened to fit the table", { rollout: open.key, shortened });
  const until = invocation.endsAt - REPORT_MARGIN_MS;
  try {
    const next = withResult(open, output, activity, ports.clock.now());
    const moved = await writeTransition(ports, open, next, { until });
    const stored = currentItem(moved, open);
    if (moved.moved && isOpen(stored))
      return (await settleWithResult(ports, limits, stored, { until, resumed: false })).item;
    await tellLateResult(ports, open, output, stored);
    return stored;
  } catch (error) {
    if (!isUnstorable(error)) throw error;
    return (await settleWithoutResult(ports, limits, open, "invalid-output", error.message)).item;
  }
}

function failureOf(
  { reason, detail, calls, lastCallAt }: AgentEnd & { kind: "failed" },
  { attempt }: OpenRolloutItem,
  { clock }: Ports,
): string {
  // What a call gets that outlived its episode is a failure of the call.
  const isCut = reason === "agent-error" && detail.startsWith("ModelError");
  // Of model calls that are not seen from here, nobody knows when the last one began.
  if (calls === undefined || (reason !== "episode-lost" && !isCut)) return detail;
  return withDiscardHint(detail, { ...attempt, last_call_at: lastCallAt }, clock.now());
}

/** Kept free after the report: for the last write and the batch response. */
const REPORT_MARGIN_MS = 3000;

/** What the rollout's state means for its message. */
async function conclude(
  item: RolloutItem,
  record: QueueRecord,
  ports: Ports,
  limits: FleetLimits,
): Promise<Disposition> {
  // This message outlived its own dead letter, which has been sent again.
  if (isDone(item) || isSentAgain(item)) return DONE;
  if (item.state === "dead") {
    await sendDeadLetter(item, record, ports, limits);
    return DONE;
  }
  if (isOpen(item))
    return { done: false, delaySeconds: WAIT_FOR_OPEN_ATTEMPT_SECONDS, reason: "open-attempt" };
  return {
    done: false,
    delaySeconds: waitAfterAttempt(item, ports.random),
    reason: lastAttempt(item)?.reason ?? "waiting",
  };
}
