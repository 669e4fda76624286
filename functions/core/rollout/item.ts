/** What the table remembers of one rollout: its state, its open attempt, and how earlier attempts ended. */
import * as z from "zod";
import { workflowOutputSchema } from "../protocol.ts";
import { type Reason, reasons } from "../reasons.ts";

/**
 * `waiting` no attempt is open; `running` an episode is claimed and the agent works; `reporting` the result is stored,
 * and the engine may or may not have taken it; `ended`, `unknown`, `lost` (with its training) and `dead` are final.
 */
export const rolloutStates = ["waiting", "running", "reporting", "ended", "unknown", "lost", "dead"] as const;
export type RolloutState = (typeof rolloutStates)[number];

const reason = z.enum(Object.keys(reasons) as [Reason, ...Reason[]]);

/** The open attempt. Times are unix ms, `discard_timeout` is seconds. */
const attemptSchema = z.object({
  id: z.string(),
  invocation: z.string(),
  episode: z.string(),
  global_step: z.number().nullable(),
  discard_timeout: z.number(),
  claimed_at: z.number(),
  /** Eight times the discard timeout after the claim: later than that the reference aborts instead of ending. */
  expires_at: z.number(),
  /** The receipt of the message that this attempt works for, so that the sweep can make it visible. */
  receipt: z.string(),
  result: workflowOutputSchema.optional(),
  result_at: z.number().optional(),
  model_calls: z.number().optional(),
  /** When the last model call began: from then on the engine counts the episode as idle. */
  last_call_at: z.number().optional(),
  /** How the attempt failed, where its episode could not be settled at once. */
  failure: z
    .object({
      reason,
      detail: z.string().optional(),
      /** When somebody began to settle it: for a while nobody else does, or both might abort. */
      settling_at: z.number().optional(),
    })
    .optional(),
  /** When an end was sent that the engine has not answered: it may be at it for minutes. */
  end_sent_at: z.number().optional(),
  /** Since when the engine shows the episode nowhere, while it should. */
  gone_since: z.number().optional(),
});
export type Attempt = z.infer<typeof attemptSchema>;

const pastAttemptSchema = z.object({
  id: z.string(),
  episode: z.string(),
  reason,
  at: z.number(),
  /** Unix ms of the claim. */
  from: z.number(),
  step: z.number().nullable(),
  reward: z
    .union([z.number(), z.array(z.number())])
    .nullable()
    .optional(),
  calls: z.number().optional(),
  detail: z.string().optional(),
});
export type PastAttempt = z.infer<typeof pastAttemptSchema>;

/** How many past attempts an item keeps; `tries` counts all. */
export const HISTORY_LENGTH = 20;

export const rolloutItemSchema = z.object({
  /** The release of this shape. */
  v: z.literal(1),
  fleet: z.string(),
  key: z.string(),
  engine: z.string(),
  task_id: z.string(),
  repeat: z.number(),
  run: z.string().optional(),
  episode_type: z.enum(["train", "eval"]),
  state: z.enum(rolloutStates),
  /** Attempts used up: those whose reason the rollout is to blame for. */
  attempts: z.number(),
  /** All attempts that claimed an episode. */
  tries: z.number(),
  /** Attempts that ended as `suspected`; from the first on the rollout's agent runs alone. */
  suspected: z.number().optional(),
  /** Attempts whose episode the agent gave back, and those whose call to the agent broke: both for nothing, within bounds. */
  discards: z.number().optional(),
  losses: z.number().optional(),
  attempt: attemptSchema.optional(),
  history: z.array(pastAttemptSchema),
  /** JSON of what the agent returned beside the reward of the end that counts, shortened: see `keptOutput`. */
  output: z.string().optional(),
  created_at: z.number(),
  changed_at: z.number(),
  /** When the trainer's list showed the ended episode; `null` where its batch was closed without it. */
  confirmed_at: z.number().nullable().optional(),
  /** When its batch had passed without anybody having seen whether the trainer has it. */
  unseen_at: z.number().optional(),
  /** Whether the dead letter has been sent. */
  letter: z.enum(["owed", "sent"]).optional(),
  /** Unique to each write, so that a writer whose answer was lost knows its own write again. */
  stamp: z.string(),
});
export type RolloutItem = z.infer<typeof rolloutItemSchema>;

export type OpenRolloutItem = RolloutItem & { attempt: Attempt };

/** No further attempt may be made at it: its reward may have arrived. */
export function isDone({ state }: Pick<RolloutItem, "state">): boolean {
  return state === "ended" || state === "unknown" || state === "lost";
}

export function isFinal(item: Pick<RolloutItem, "state">): boolean {
  return isDone(item) || item.state === "dead";
}

/**
 * A redrive has sent the rollout's message again, as a new rollout: this one stays as the mark of it. Only rollouts without
 * a run come here.
 */
export function isSentAgain(item: RolloutItem): boolean {
  return item.state === "waiting" && item.letter === "sent";
}

export function isOpen(item: RolloutItem): item is OpenRolloutItem {
  return (item.state === "running" || item.state === "reporting") && item.attempt !== undefined;
}

/** `moved` the write took place; otherwise the item that stands there instead. */
export type Moved = { moved: true; item: RolloutItem } | { moved: false; found: RolloutItem | undefined };

export interface RolloutReader {
  /** Reads what was written last. */
  read(fleet: string, key: string): Promise<RolloutItem | undefined>;
}

export interface RolloutStore extends RolloutReader {
  /** Writes `next` if the item that was left still stands (`undefined`: if there is none). */
  move(previous: RolloutItem | undefined, next: RolloutItem): Promise<Moved>;
}
