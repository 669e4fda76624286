/**
 * The reference's `begin_episode` with bounded waiting: look at the engine, wait until it rolls, be admitted, claim;
 * and again after a delay, as long as there is time.
 */

import type { Engine } from "../engine.ts";
import { EngineError, InvalidMessageError } from "../errors.ts";
import type { ClaimAnswer, ClaimRequest, EngineStatus } from "../protocol.ts";
import type { ClaimLine } from "./claim-line.ts";
import type { ClaimOptions, ClaimOutcome, Granted, WaitReason } from "./claim-outcome.ts";
import {
  delayAfterRefusal,
  expiryOf,
  isNoEpisodes,
  NO_EPISODES_DELAY,
  NOT_NEEDED_DELAY,
  POLL_DELAY,
  RETRY_DELAY,
  THROTTLED_DELAY,
} from "./claim-rules.ts";

export type * from "./claim-outcome.ts";

/** No outcome yet: try again after `delay` seconds. */
interface Again {
  readonly kind: "again";
  readonly reason: WaitReason;
  readonly detail: string;
  readonly delay: number;
  /** Whether the delay is what an answer asked for. */
  readonly told?: boolean;
}

/**
 * Claims an episode, or says why it could not be had in time.
 * @throws InvalidMessageError for a throttle policy without a task id: no try could ever be admitted.
 * @throws whatever `admission` and `onUnclearClaim` throw, other than `EngineError`.
 */
export async function claimEpisode(
  engine: Engine,
  request: ClaimRequest,
  options: ClaimOptions,
): Promise<ClaimOutcome> {
  if (request.throttle_policy?.current_task_id === "") {
    throw new InvalidMessageError(
      "throttle_policy.current_task_id: expected the task's id, found none; set task_id",
    );
  }
  const tries = new ClaimLoop(engine, request, options);
  for (;;) {
    const status = await engine.status();
    const step = await tries.next(status);
    if (step.kind !== "again") return step;
    const stop = await waitAfter(step, status, options);
    if (stop === undefined) continue;
    const error = tries.lost?.error;
    if (error !== undefined) return { kind: "unclear-claim", error, status: status.engine_status };
    const reason = stop === "stopped" ? stop : step.reason;
    const told = step.told ? { retryAfterSeconds: step.delay } : {};
    return {
      kind: "waited-out",
      reason,
      status: status.engine_status,
      detail: step.detail,
      ...told,
    };
  }
}

type Stop = "late" | "stopped";

/** Waits for the next try: in line with others where there is one, unless the engine is in trouble. */
async function waitAfter(
  step: Again,
  status: EngineStatus,
  options: ClaimOptions,
): Promise<Stop | undefined> {
  const { line } = options;
  if (line && step.reason === "no-episodes") return await stand(line, options);
  const soon = step.reason === "not-rolling" && soonRolling.has(status.engine_status);
  if (step.reason === "not-rolling") line?.notRolling();
  return await pause(line && soon ? line.untilLook() : step.delay * 1000, options);
}

async function stand(line: ClaimLine, options: ClaimOptions): Promise<Stop | undefined> {
  const { clock, signal, waitUntil } = options;
  if (signal?.aborted) return "stopped";
  if (clock.now() >= waitUntil) return "late";
  await line.turn(waitUntil, signal);
  if (signal?.aborted) return "stopped";
  return clock.now() >= waitUntil ? "late" : undefined;
}

/** From these an engine comes to ROLLING by itself, within a batch's time. */
const soonRolling: ReadonlySet<string> = new Set([
  "ENGINE.ROLLING_POST",
  "ENGINE.WEIGHT_SYNCING",
  "ENGINE.WEIGHT_EXPORTING",
]);

/** Sleeps, unless that would last past `waitUntil`; says why the waiting is over, if it is. */
async function pause(ms: number, { clock, signal, waitUntil }: ClaimOptions): Promise<Stop | undefined> {
  if (signal?.aborted) return "stopped";
  if (clock.now() + ms > waitUntil) return "late";
  try {
    await clock.sleep(ms, signal);
    return undefined;
  } catch (error) {
    if (signal?.aborted) return "stopped";
    throw error;
  }
}

/** One try after the other. Remembers a claim whose answer was lost until it is cleared up. */
class ClaimLoop {
  /** `at` is when that claim was sent, unix ms. */
  lost: { readonly error: EngineError; readonly at: number } | undefined;
  #waitsForRolling = false;
  readonly #engine: Engine;
  readonly #request: ClaimRequest;
  readonly #options: ClaimOptions;

  constructor(engine: Engine, request: ClaimRequest, options: ClaimOptions) {
    this.#engine = engine;
    this.#request = request;
    this.#options = options;
  }

  async next(status: EngineStatus): Promise<ClaimOutcome | Again> {
    // In any status: an episode that was given away to us also holds up an engine in ROLLING_POST.
    const found = await this.#clearUp(status).catch(afterError);
    if (found !== undefined) return found;
    if (this.#options.signal?.aborted) return again("stopped", "", 0);
    const rolled = this.#waitsForRolling;
    this.#waitsForRolling = status.engine_status !== "ENGINE.ROLLING";
    if (this.#waitsForRolling) return notRolling(status);
    // All who waited would ask at once for what is not offered yet.
    if (rolled && this.#options.line) return inLine(this.#options.line);
    try {
      return await this.#claim(status);
    } catch (error) {
      const failed = afterError(error);
      return (await this.#clearUp(status).catch(afterError)) ?? failed;
    }
  }

  async #claim(status: EngineStatus): Promise<Granted | Again> {
    const { admission, clock, closed, needed } = this.#options;
    const why = await closed?.();
    if (why !== undefined) return again(why.reason, why.detail, Number.POSITIVE_INFINITY);
    const idle = this.#request.episode_type === "train" ? await needed?.(status) : undefined;
    if (idle !== undefined) return notNeeded(idle);
    if (admission !== undefined && this.#request.episode_type === "train") {
      const { admitted, reason = "" } = await admission();
      if (!admitted) return again("throttled", reason, THROTTLED_DELAY);
    }
    const at = clock.now();
    const answer = await this.#engine.claim(this.#request).catch((error: unknown) => {
      if (error instanceof EngineError && error.failure === "unclear") this.lost = { error, at };
      throw error;
    });
    return answer.success ? this.#granted(answer, clock.now(), status) : refused(answer.fail_cause);
  }

  /** Undefined where nothing is lost, or nothing was given away. */
  async #clearUp(status: EngineStatus): Promise<ClaimOutcome | undefined> {
    if (this.lost === undefined) return undefined;
    const { error, at } = this.lost;
    const { onUnclearClaim } = this.#options;
    if (onUnclearClaim === undefined) return { kind: "unclear-claim", error, status: status.engine_status };
    const grant = await onUnclearClaim(error);
    this.lost = undefined;
    return grant && this.#granted(grant, at, status);
  }

  #granted(grant: ClaimAnswer, claimedAt: number, status: EngineStatus): Granted {
    this.#options.line?.granted();
    const expiresAt = expiryOf(claimedAt, this.#request.discard_episode_timeout);
    return { kind: "granted", grant, claimedAt, expiresAt, globalStep: status.global_step ?? null };
  }
}

function again(reason: WaitReason, detail: string, delay: number): Again {
  return { kind: "again", reason, detail, delay };
}

function inLine(line: ClaimLine): Again {
  line.rolled();
  return again("no-episodes", "the engine has just begun to roll", NO_EPISODES_DELAY);
}

function notNeeded(how: "wait" | "defer"): Again {
  const detail = "the engine's batch does not need it";
  return again("not-needed", detail, how === "wait" ? NOT_NEEDED_DELAY : Number.POSITIVE_INFINITY);
}

function notRolling({ engine_status, engine_status_detail: detail }: EngineStatus): Again {
  return again("not-rolling", detail ? `${engine_status}: ${detail}` : engine_status, POLL_DELAY);
}

function refused(failCause: string): Again {
  return again(isNoEpisodes(failCause) ? "no-episodes" : "refused", failCause, delayAfterRefusal(failCause));
}

function afterError(error: unknown): Again {
  if (!(error instanceof EngineError)) throw error;
  const told = Math.ceil((error.retryAfterMs ?? 0) / 1000);
  const step = again("engine-error", error.message, Math.max(RETRY_DELAY, told));
  return told > RETRY_DELAY ? { ...step, told: true } : step;
}
