/**
 * `success: true` does not prove that the trainer has the reward, and the client uuids in the pool are written at any
 * success: only `completed_tasks_details` comes from the trainer. An end is confirmed when that has shown it, and missing
 * when the trainer has closed its batch without it. Where that was not seen, such as in a batch shorter than the time
 * between two looks, nothing is concluded: the end is unseen.
 */
import { describeError } from "../errors.ts";
import type { PoolInformation } from "../protocol.ts";
import { type BatchSeen, closedWithout, shortName } from "../rollout/batch-seen.ts";
import type { PastAttempt, RolloutItem } from "../rollout/item.ts";
import { confirmed, lastAttempt, unseen } from "../rollout/transitions.ts";
import { writeTransition } from "../rollout/write-transition.ts";
import type { SweepPorts } from "./sweep-ports.ts";

/** How many ended rollouts one sweep looks at: more than a batch has. */
const MOST = 2000;
const AT_ONCE = 20;
/** After so long the engine has been restarted or stopped, and the pool will not show it any more. */
const LOST_AFTER_MS = 24 * 3_600_000;

type Verdict = "confirmed" | "missing" | "unseen" | undefined;
type Remembered = (fleet: string, step: number) => Promise<BatchSeen | undefined>;

/** Resolves to how many ends are confirmed now. */
export async function confirm(
  ports: SweepPorts,
  engineName: string,
  pool: PoolInformation,
  until = Number.POSITIVE_INFINITY,
): Promise<number> {
  const waiting = (await ports.index.unconfirmed(engineName, MOST)).filter(({ fleet }) =>
    ports.fleets.has(fleet),
  );
  const shown = new Set(Object.values(pool.completed_tasks_details).flat());
  const remembered = once(ports);
  let count = 0;
  for (let start = 0; start < waiting.length && ports.clock.now() < until; start += AT_ONCE) {
    const outcomes = waiting.slice(start, start + AT_ONCE).map(async ({ fleet, key }) => {
      const item = await ports.rollouts.read(fleet, key);
      const verdict = item && (await verdictOn(item, { shown, pool, remembered, now: ports.clock.now() }));
      if (item && verdict) await writeTransition(ports, item, concluded(item, verdict, ports.clock.now()));
      return verdict === "confirmed" ? 1 : 0;
    });
    for (const outcome of await Promise.allSettled(outcomes)) {
      if (outcome.status === "fulfilled") count += outcome.value;
      else ports.log("warn", "end could not be confirmed", { error: describeError(outcome.reason, 300) });
    }
  }
  return count;
}

/** Each batch is read once a sweep. */
function once({ batches }: SweepPorts): Remembered {
  const read = new Map<string, Promise<BatchSeen | undefined>>();
  return (fleet, step) => {
    const name = `${step} ${fleet}`;
    const known = read.get(name) ?? batches.read(fleet, step);
    read.set(name, known);
    return known;
  };
}

function concluded(item: RolloutItem, verdict: "confirmed" | "missing" | "unseen", now: number) {
  if (verdict === "unseen") return unseen(item, now);
  return confirmed(item, verdict === "confirmed" ? now : null);
}

interface Look {
  readonly shown: ReadonlySet<string>;
  readonly pool: PoolInformation;
  readonly remembered: Remembered;
  readonly now: number;
}

/** Undefined while the pool may still show it. */
async function verdictOn(item: RolloutItem, { shown, pool, remembered, now }: Look): Promise<Verdict> {
  const last = lastAttempt(item);
  if (item.state !== "ended" || item.confirmed_at !== undefined || item.unseen_at !== undefined || !last)
    return undefined;
  // The engine took the end from this attempt and dropped the episode then: no other can have ended it.
  if (shown.has(last.episode)) return "confirmed";
  const isLate = now - last.at > LOST_AFTER_MS;
  const { step } = last;
  const current = pool.global_step;
  if (step === null || typeof current !== "number") return isLate ? "unseen" : undefined;
  if (current === step && !isLate) return undefined;
  const told = toldBy(last, await remembered(item.fleet, step), await remembered(item.fleet, step + 1));
  if (told !== undefined) return told;
  // The first report of the next batch may still be awaited, and with it the last look at this one.
  return isLate || current !== step + 1 ? "unseen" : undefined;
}

function toldBy(
  { id, episode }: PastAttempt,
  own: BatchSeen | undefined,
  next: BatchSeen | undefined,
): Verdict {
  const name = shortName(episode);
  const has = (batch: BatchSeen | undefined) =>
    batch?.final?.includes(name) || batch?.looks.some(({ completed }) => completed.includes(name));
  if (has(own) || has(next)) return "confirmed";
  return own && closedWithout(own, shortName(id), name) ? "missing" : undefined;
}
