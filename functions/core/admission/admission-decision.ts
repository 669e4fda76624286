/** One decision of `admission.ts`: the facts of the moment, asked task by task. */

import type { ThrottleSetting } from "../../contract/throttle-setting.ts";
import { POOL_LAG_MS } from "../engine.ts";
import { isEvalName } from "../eval-name.ts";
import type { PoolInformation } from "../protocol.ts";
import {
  type AdmissionState,
  drop,
  type FleetAdmission,
  MOST_PLACES,
  MOST_SEEN,
  type Place,
  stateOf,
} from "./admission-item.ts";
import { taskKey } from "./task-key.ts";
import {
  type BatchTasks,
  countOwn,
  fullReason,
  type IsOurs,
  judge,
  readBatch,
  seenLimit,
} from "./throttle.ts";

export interface AdmissionRules {
  readonly setting: ThrottleSetting;
  readonly isOurs: IsOurs;
  /** A reservation that the pool has not shown for so long is dropped, ms. More than a claim takes and the pool lags. */
  readonly reservationMs: number;
  /** A full fleet goes beyond its bound only after the engine's batch has lain idle for so long, ms. */
  readonly idleMs: number;
}
export const admissionDefaults = { reservationMs: 60_000, idleMs: 10_000 };

export interface AdmissionVerdict {
  readonly admitted: boolean;
  /** The reference's words, or empty. */
  readonly reason: string;
}

export type Pool = Pick<
  PoolInformation,
  "completed_tasks_client_uuids" | "running_episode_details" | "global_step" | "engine_status"
>;

/** A task and those who ask for it. */
export interface TaskRequest {
  readonly taskId: string;
  readonly key: string;
  /** Askers whose claim the place does not count yet. */
  readonly uncounted: number;
}

/** The facts of one decision, and what becomes of them. */
export class AdmissionDecision {
  readonly #step: number | null;
  readonly #rules: AdmissionRules;
  readonly #now: number;
  readonly #pool: BatchTasks;
  readonly #othersRun: boolean;
  readonly #places: Map<string, Place>;
  readonly #seen: Set<string>;
  #idleSince: number | undefined;
  #changed = false;

  constructor(item: FleetAdmission | undefined, pool: Pool, rules: AdmissionRules, now: number) {
    const running = trainOnly(pool, rules.isOurs);
    this.#step = pool.global_step ?? null;
    this.#rules = rules;
    this.#now = now;
    this.#pool = readBatch(
      { ...pool, running_episode_details: running },
      rules.setting.repeats,
      rules.isOurs,
      taskKey,
    );
    this.#othersRun = Object.values(running ?? {}).some(({ client_uuid }) => !rules.isOurs(client_uuid));
    const current = item?.global_step === this.#step ? item : undefined;
    this.#places = new Map(Object.entries(current?.places ?? {}));
    this.#idleSince = current?.idle_since;
    this.#seen = new Set(item?.seen);
    // A new batch starts with a clean count; what was seen stays. What was admitted and never shown was not seen.
    if (current === undefined)
      for (const [key, { claims }] of Object.entries(item?.places ?? {}))
        if (claims !== undefined) this.#seen.delete(key);
  }

  holds(key: string): boolean {
    return this.#places.has(key);
  }

  /** Whether the task would need a free place. */
  isFresh(key: string): boolean {
    return !this.#seen.has(key) && !this.holds(key) && !this.#isShown(key);
  }

  /**
   * Brings the places up to what the pool shows. A task that it no longer shows keeps its place for a while: an ended
   * episode may be shown late, and a failed one is tried again. Its time runs from the first look that missed it.
   */
  observe(): void {
    for (const [key, place] of this.#places) this.#review(key, place);
    for (const key of this.#pool.own)
      if (!this.holds(key) && this.#places.size < MOST_PLACES) this.#put(key, {});
    if (this.#othersRun) this.#setIdleSince(undefined);
  }

  #review(key: string, place: Place): void {
    const { since, doubted } = place;
    const now = this.#now;
    if (this.#isShown(key)) {
      if (since !== undefined) this.#put(key, {});
    } else if (since === undefined || Math.max(since, doubted ?? 0) > now + this.#rules.reservationMs) {
      // Far in the future is a machine's clock going wrong: it must not hold a place for ever.
      this.#put(key, { ...(place.claims === undefined ? {} : { claims: place.claims }), since: now });
    } else if (doubted !== undefined && now - doubted >= POOL_LAG_MS) {
      drop(key, this.#places, this.#seen);
      this.#changed = true;
    } else if (doubted === undefined && now - since >= this.#rules.reservationMs - POOL_LAG_MS)
      // Perhaps it was claimed and ended since, without anybody looking: then the pool shows it soon.
      this.#put(key, { ...place, doubted: now });
  }

  ask(request: TaskRequest): AdmissionVerdict {
    const { setting } = this.#rules;
    const batch = this.#batch();
    const verdict = judge(request.key, batch, this.#seen, setting);
    const passes = verdict === "idle" ? this.#passesIdle(request.key, batch) : verdict !== "full";
    if (!passes) return { admitted: false, reason: fullReason(countOwn(batch), setting, request.taskId) };
    if (!this.#admit(request)) return { admitted: false, reason: TOO_MANY_RESERVED };
    return { admitted: true, reason: "" };
  }

  /** Undefined where the item may stand as it is. */
  changes(): AdmissionState | undefined {
    if (!this.#changed) return undefined;
    const { setting } = this.#rules;
    const state = { global_step: this.#step, seen: [], places: {}, idle_since: this.#idleSince };
    const next = stateOf(state, bounded(this.#places), this.#seen);
    const limit = Math.min(seenLimit(setting), MOST_SEEN);
    return { ...next, seen: next.seen.slice(Math.max(0, next.seen.length - limit)) };
  }

  /** The pool's batch, and what is admitted to it without being shown: that runs as well, for all we know. */
  #batch(): BatchTasks {
    const own = this.#pool.own.union(this.#places);
    return { ...this.#pool, own, idle: this.#pool.idle && this.#reserved() === 0 };
  }

  #isShown(key: string): boolean {
    return this.#pool.own.has(key) || this.#pool.alien.has(key);
  }

  #reserved(): number {
    return [...this.#places.values()].filter(({ since }) => since !== undefined).length;
  }

  /**
   * Where nothing runs and the batch is not full, the reference lets in whoever asks, bound or not: else a batch whose
   * other fleets have nothing to offer would never be full. It is one look in one process there; here another fleet may
   * just be between two claims, so a fleet that is full waits until the batch has lain idle for a while.
   */
  #passesIdle(key: string, batch: BatchTasks): boolean {
    if (judge(key, { ...batch, idle: false }, this.#seen, this.#rules.setting) !== "full") return true;
    if (this.#idleSince === undefined || this.#idleSince > this.#now) this.#setIdleSince(this.#now);
    return this.#now - (this.#idleSince ?? this.#now) >= this.#rules.idleMs;
  }

  /** False where there are too many reservations already: the item is bounded. */
  #admit({ key, uncounted }: TaskRequest): boolean {
    const place = this.#places.get(key);
    const shown = this.#isShown(key);
    if (!place && !shown && this.#reserved() >= MOST_PLACES) return false;
    if (!this.#seen.has(key)) {
      this.#seen.add(key);
      this.#changed = true;
    }
    if (!place && !shown) this.#put(key, { since: this.#now, claims: uncounted });
    if (place?.since !== undefined) this.#renew(key, place, place.since, uncounted);
    return true;
  }

  /** Somebody still means to claim it. Written down rarely, unless there is one more to count. */
  #renew(key: string, place: Place, since: number, uncounted: number): void {
    const one = place.claims === undefined ? 0 : uncounted;
    if (one === 0 && this.#now - since < this.#rules.reservationMs / 3) return;
    this.#put(key, {
      since: this.#now,
      ...(place.claims === undefined ? {} : { claims: place.claims + one }),
    });
  }

  #put(key: string, place: Place): void {
    this.#places.set(key, place);
    this.#changed = true;
  }

  #setIdleSince(since: number | undefined): void {
    if (this.#idleSince === since) return;
    this.#idleSince = since;
    this.#changed = true;
  }
}

const TOO_MANY_RESERVED = `Throttling because ${MOST_PLACES} admitted tasks are not shown by the engine's pool yet; they are waited for.`;

/** Eval episodes of ours take no place in the batch. The engine is not idle, though, while one runs. */
function trainOnly(pool: Pool, isOurs: IsOurs): Pool["running_episode_details"] {
  const running = pool.running_episode_details;
  if (running === null || running === undefined) return null;
  const train = Object.entries(running).filter(
    ([, { client_uuid, optional_task_id }]) => !(isOurs(client_uuid) && isEvalName(optional_task_id ?? "")),
  );
  return Object.fromEntries(train);
}

/** If there are too many, those go that the pool shows anyway, the oldest first. */
function bounded(places: Map<string, Place>): Map<string, Place> {
  const extra = places.size - MOST_PLACES;
  if (extra <= 0) return places;
  const shown = [...places].filter(([, { since }]) => since === undefined).slice(0, extra);
  const gone = new Set(shown.map(([key]) => key));
  return new Map([...places].filter(([key]) => !gone.has(key)));
}
