/**
 * What the lifecycle function has seen of a batch of the engine: kept, since the pool forgets it when the next batch
 * begins, and an end may have to be judged after that. `docs/decisions/undelivered-ends.md` says what proves what.
 */
import * as z from "zod";
import { isClientOf, parseClientUuid } from "../client-uuid.ts";
import { POOL_LAG_MS } from "../engine.ts";
import type { PoolInformation } from "../protocol.ts";
import type { Attempt } from "./item.ts";
import { isRolling } from "./locate-episode.ts";
import type { TrainingStore } from "./training-seen.ts";

const names = z.array(z.string()).default([]);

/** Names are shortened, see `shortName`. Each look holds only what none before it has shown. */
const lookSchema = z.object({
  /** Unix ms. */
  at: z.number(),
  /** Attempts of the fleet that hold an episode. */
  held: names,
  /** The episodes that they hold. */
  running: names,
  /** Attempts of the fleet whose end the engine has answered with success, delivered or not. */
  ended: names,
  /** Episodes that the trainer has. */
  completed: names,
  /** Attempts seen earlier that hold nothing any more and have no end, in what is the same batch for certain. */
  missing: z.array(z.string()).optional(),
  /** … for longer than the pool lags behind: the engine took their episodes back, and takes no end of theirs any more. */
  lost: z.array(z.string()).optional(),
  /** Whether the pool named a client for each episode that the trainer has: then whoever is not named has ended none. */
  named: z.literal(true).optional(),
});
type Look = z.infer<typeof lookSchema>;

/** One training's batch. */
const batchSchema = z.object({
  looks: z.array(lookSchema),
  /** All episodes that the trainer had when its batch was closed; absent while that has not been seen. */
  final: z.array(z.string()).optional(),
  /** Unix ms of the last write. */
  changed_at: z.number(),
});
type Batch = z.infer<typeof batchSchema>;

export const batchSeenSchema = batchSchema.extend({
  engine: z.string(),
  step: z.number(),
  /** Unique to each write, in order. */
  version: z.number(),
  /** What earlier trainings had at the same step, the last one first: an engine that restarts begins at step 1 again. */
  earlier: z.array(batchSchema).optional(),
});
export type BatchSeen = z.infer<typeof batchSeenSchema>;

export interface BatchStore {
  read(fleet: string, step: number): Promise<BatchSeen | undefined>;
  /** False where somebody else has written since `left` was read. */
  write(fleet: string, previous: BatchSeen | undefined, next: BatchSeen): Promise<boolean>;
  /** Which trainings these batches belonged to. */
  readonly trainings: TrainingStore;
}

/** An item of 400 KB holds about twice as many. What comes after is not kept, and then nothing counts as final. */
const MOST_NAMES = 12_000;

/**
 * Enough of a UUID to tell it from those of one batch, of which an item holds thousands: 48 bits. Other names are kept
 * whole.
 */
export function shortName(name: string): string {
  return name.replace(/^([0-9a-f]{8}-[0-9a-f]{4})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/, "$1");
}

/** A look at the pool, as far as it concerns one fleet. */
export interface PoolLook {
  readonly pool: PoolInformation;
  readonly fleetId: string;
  /** Unix ms. */
  readonly at: number;
}

/** Whether the details that the pool shows while it rolls are still those of the batch before. */
export function isStillThatOf(before: BatchSeen | undefined, { pool }: PoolLook): boolean {
  const known = new Set(before?.looks.flatMap(({ running, completed }) => [...running, ...completed]));
  return completedIn(pool).some((episode) => known.has(episode));
}

/**
 * Whether the pool shows none of the episodes that were seen in the batch: an engine that goes on with its batch has each of
 * them, running or completed or taken back.
 */
export function isAnotherBatch(batch: BatchSeen | undefined, pool: PoolInformation): boolean {
  const running = Object.keys(pool.running_episode_details ?? {}).map(shortName);
  const shown = new Set([...completedIn(pool), ...running]);
  const known = (batch?.looks ?? []).flatMap(({ running, completed }) => [...running, ...completed]);
  return known.length > 0 && !known.some((episode) => shown.has(episode));
}

/** What is known after a look at a batch that the engine is in; the same object where the look showed nothing new. */
export function afterLook(seen: BatchSeen, look: PoolLook, details: boolean): BatchSeen {
  const { pool, at } = look;
  // The same step again after its end: another training, of which nothing is known yet.
  const known = isRolling(pool.engine_status) && seen.final ? afresh(seen) : seen;
  const completed = details ? completedIn(pool) : [];
  const named = details && namesAll(pool) ? ({ named: true } as const) : {};
  const shown = { at, ...attemptsIn(look), completed };
  const gone = isRolling(pool.engine_status) ? goneIn(known.looks, shown) : { missing: [], lost: [] };
  const added = newIn(known.looks, { ...shown, ...gone, ...named });
  const isNew = namesIn(added) > 0;
  const room = MOST_NAMES - namesIn(...known.looks, added);
  const fits = room >= 0;
  const looks = isNew && fits ? [...known.looks, added] : known.looks;
  const closes = isClosing(pool) && fits && known.final === undefined;
  if (looks === seen.looks && !closes) return seen;
  return changed(withinRoom({ ...known, looks }, room), at, closes ? completedIn(pool) : known.final);
}

/** How many trainings are remembered beside the current one, as long as their names fit. */
const MOST_EARLIER = 4;

function afresh({ looks, final, changed_at, earlier = [], ...seen }: BatchSeen): BatchSeen {
  const before = { looks, changed_at, ...(final ? { final } : {}) };
  return { ...seen, looks: [], changed_at, earlier: [before, ...earlier].slice(0, MOST_EARLIER) };
}

/** Of the earlier trainings the last ones, as far as the current one leaves room for their names. */
function withinRoom({ earlier = [], ...seen }: BatchSeen, room: number): BatchSeen {
  let left = room;
  const kept = earlier.filter(({ looks, final = [] }) => {
    left -= namesIn(...looks) + final.length;
    return left >= 0;
  });
  return kept.length > 0 ? { ...seen, earlier: kept } : seen;
}

/**
 * Attempts that an earlier look showed and this one does not, neither as holders nor with an end. That it is the same batch,
 * and not one of an engine that has lost its state, an episode shows that was known by then and is there still.
 */
function goneIn(
  looks: readonly Look[],
  shown: Omit<Look, "missing" | "lost" | "named">,
): Pick<Look, "missing" | "lost"> {
  const there = new Set([...shown.running, ...shown.completed]);
  const accounted = new Set([...shown.held, ...shown.ended, ...looks.flatMap(({ ended }) => ended)]);
  const missing: string[] = [];
  let continues = false;
  for (const look of looks) {
    continues ||= [...look.running, ...look.completed].some((episode) => there.has(episode));
    if (continues) missing.push(...look.held.filter((name) => !accounted.has(name)));
  }
  const long = looks.filter(({ at }) => shown.at - at >= POOL_LAG_MS).flatMap((look) => look.missing ?? []);
  const still = new Set(missing);
  return { missing, lost: long.filter((name) => still.has(name)) };
}

/** The next batch has begun, and the pool still shows what this one had in the end. */
export function afterClose(seen: BatchSeen, { pool, at }: PoolLook): BatchSeen {
  return seen.final === undefined ? changed(seen, at, completedIn(pool)) : seen;
}

function changed(seen: BatchSeen, at: number, final: string[] | undefined): BatchSeen {
  const { final: _, ...rest } = seen;
  return { ...rest, version: seen.version + 1, changed_at: at, ...(final ? { final } : {}) };
}

/** The trainer reports once more when all of its threads are done, and only then leaves the rolling states. */
function isClosing({ engine_status: status }: PoolInformation): boolean {
  return status === "ENGINE.WEIGHT_SYNCING" || status === "ENGINE.WEIGHT_EXPORTING";
}

function completedIn(pool: PoolInformation): string[] {
  return Object.values(pool.completed_tasks_details).flat().map(shortName);
}

/** The engine writes a client's uuid down with its answer, before the trainer reports; at a weight sync it forgets them. */
function namesAll({
  engine_status,
  completed_tasks_details,
  completed_tasks_client_uuids: uuids,
}: PoolInformation) {
  return (
    isRolling(engine_status) &&
    Object.entries(completed_tasks_details).every(
      ([task, episodes]) => (Object.hasOwn(uuids, task) ? (uuids[task]?.length ?? 0) : 0) >= episodes.length,
    )
  );
}

function attemptsIn({ pool, fleetId }: PoolLook): Pick<Look, "held" | "running" | "ended"> {
  const mine = Object.entries(
    isRolling(pool.engine_status) ? (pool.running_episode_details ?? {}) : {},
  ).filter(([, { client_uuid }]) => isClientOf(fleetId, client_uuid));
  const ended = Object.values(pool.completed_tasks_client_uuids).flat();
  return {
    held: mine.map(([, { client_uuid }]) => attemptName(client_uuid)),
    running: mine.map(([episode]) => shortName(episode)),
    ended: ended.filter((uuid) => isClientOf(fleetId, uuid)).map(attemptName),
  };
}

function attemptName(clientUuid: string): string {
  return shortName(parseClientUuid(clientUuid)?.attempt ?? clientUuid);
}

const kinds = ["held", "running", "ended", "completed", "missing", "lost"] as const;

function newIn(looks: readonly Look[], look: Look): Look {
  const fresh = kinds.flatMap((kind) => {
    const known = new Set(looks.flatMap((earlier) => earlier[kind] ?? []));
    const names = [...new Set(look[kind])].filter((name) => !known.has(name));
    return names.length > 0 ? [[kind, names] as const] : [];
  });
  const { at, named } = look;
  return lookSchema.parse({ at, ...(named && { named }), ...Object.fromEntries(fresh) });
}

function namesIn(...looks: readonly Look[]): number {
  return looks.flatMap((look) => kinds.map((kind) => look[kind]?.length ?? 0)).reduce((a, b) => a + b, 0);
}

/**
 * `ended` the engine took this attempt's end; `undelivered` the trainer closed the batch without it, for certain; `lost` the
 * engine took its episode back before any end; `untold` none of these can be told.
 */
export type Memory = "ended" | "undelivered" | "lost" | "untold";

/** What is remembered of an attempt, from the batch of its claim and from the next (whose pool may show the old one). */
export function recall(attempt: Attempt, batches: readonly (BatchSeen | undefined)[]): Memory {
  const own = trainingsOf(batches[0]);
  const seen = batches.flatMap(trainingsOf);
  const looks = seen.flatMap((batch) => batch.looks);
  const name = shortName(attempt.id);
  if (looks.some(({ ended }) => ended.includes(name))) return "ended";
  const episode = shortName(attempt.episode);
  // Taken back, given to somebody else and ended by them, under the same uuid.
  if (own.some((batch) => batch.looks.some(({ named, completed }) => named && completed.includes(episode))))
    return "undelivered";
  const showing = looks.filter(({ completed }) => completed.includes(episode)).map(({ at }) => at);
  const final = seen.flatMap((batch) => (batch.final?.includes(episode) ? [batch.changed_at] : []));
  const first = Math.min(...showing, ...final);
  if (Number.isFinite(first)) {
    // Later than that the engine could have discarded it and given it to somebody else under the same uuid.
    const idle = first - (attempt.last_call_at ?? attempt.claimed_at);
    return idle < attempt.discard_timeout * 1000 ? "ended" : "untold";
  }
  if (own.some((batch) => closedWithout(batch, name, episode))) return "undelivered";
  return looks.some(({ lost }) => lost?.includes(name)) ? "lost" : "untold";
}

function trainingsOf(seen: BatchSeen | undefined): Batch[] {
  return seen === undefined ? [] : [seen, ...(seen.earlier ?? [])];
}

/**
 * Whether the batch in which the attempt was seen was closed without its episode. An engine that restarts without its
 * state may come to the same step again: an episode that was known before or with the attempt, and is among the last
 * ones, shows that it is the same batch.
 */
export function closedWithout(batch: Batch, attempt: string, episode: string): boolean {
  const { final, looks } = batch;
  if (final === undefined || final.includes(episode)) return false;
  const until = looks.findIndex(({ held }) => held.includes(attempt));
  const before = looks.slice(0, until + 1).flatMap(({ running, completed }) => [...running, ...completed]);
  return before.some((known) => final.includes(known));
}
