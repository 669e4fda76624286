/**
 * Which trainings of an engine have ended, as readings of its pool showed it. An engine that stops, crashes or restarts without
 * its state begins again at a lower step: what it had taken for a batch that it had not closed is gone.
 */
import * as z from "zod";
import type { PoolInformation } from "../protocol.ts";

const lossSchema = z.object({
  /** Unix ms of the last reading of the training that ended, and of the first one that showed its end. */
  until: z.number(),
  at: z.number(),
  /** The step that the engine was at then. */
  step: z.number(),
});
type Loss = z.infer<typeof lossSchema>;

export const trainingSeenSchema = z.object({
  engine: z.string(),
  /** Of the last reading that was written down. */
  step: z.number(),
  at: z.number(),
  /** The last ones, the newest first. */
  losses: z.array(lossSchema),
  /** Unique to each write, in order. */
  version: z.number(),
});
export type TrainingSeen = z.infer<typeof trainingSeenSchema>;

export interface TrainingStore {
  read(fleet: string): Promise<TrainingSeen | undefined>;
  /** False where somebody else has written since `previous` was read. */
  write(fleet: string, previous: TrainingSeen | undefined, next: TrainingSeen): Promise<boolean>;
}

const MOST_LOSSES = 20;
/** A training that goes on is written down so often at most: the age of the last reading says how sure a loss is. */
const INTERVAL_MS = 30_000;

/** What is known after a reading; undefined where it tells nothing that is worth a write. */
export function afterReading(
  seen: TrainingSeen | undefined,
  engine: string,
  { global_step: step }: Pick<PoolInformation, "global_step">,
  at: number,
): TrainingSeen | undefined {
  if (typeof step !== "number") return undefined;
  const known = seen?.engine === engine ? seen : undefined;
  const version = (seen?.version ?? 0) + 1;
  if (known === undefined) return { engine, step, at, losses: [], version };
  if (at <= known.at) return undefined;
  const ended = step < known.step ? [{ until: known.at, at, step }] : [];
  if (ended.length === 0 && step === known.step && at - known.at < INTERVAL_MS) return undefined;
  return { engine, step, at, losses: [...ended, ...known.losses].slice(0, MOST_LOSSES), version };
}

/**
 * Whether the training in which an attempt has claimed its episode is over. `current`: what the pool shows now. An attempt
 * that was claimed between the two readings of a loss belongs to the training that ended where its step is one that the
 * next had not come to by then.
 */
export function isTrainingOver(
  attempt: { readonly global_step: number | null; readonly claimed_at: number },
  seen: TrainingSeen | undefined,
  current: Pick<PoolInformation, "global_step">,
): boolean {
  const { global_step: step, claimed_at: claimed } = attempt;
  if (step === null) return false;
  if (typeof current.global_step === "number" && current.global_step < step) return true;
  return (seen?.losses ?? []).some(
    (loss: Loss) => loss.at > claimed && (claimed <= loss.until || step > loss.step),
  );
}
