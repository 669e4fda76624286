/** A result that came when its attempt was closed already: it changes nothing, and is told. */
import * as z from "zod";
import type { Clock } from "../clock.ts";
import { describeError } from "../errors.ts";
import type { Log } from "../log.ts";
import type { WorkflowOutput } from "../protocol.ts";
import { REWARD_BYTES, rewardBytes } from "./fit-output.ts";
import type { OpenRolloutItem, RolloutItem } from "./item.ts";

/** One for each attempt at most. */
export const lateResultSchema = z.object({
  v: z.literal(1),
  /** The attempt's id. */
  id: z.string(),
  episode: z.string(),
  /** Unix ms. */
  at: z.number(),
  /** Absent where it is larger than a history keeps. */
  reward: z
    .union([z.number(), z.array(z.number())])
    .nullable()
    .optional(),
});
export type LateResult = z.infer<typeof lateResultSchema>;

export interface LateResultStore {
  /** Notes it beside the rollout, which it does not change. */
  note(fleet: string, key: string, late: LateResult): Promise<void>;
}

/**
 * An item of its own: the rollout may have another attempt open by now, whose writes name the very item that they leave.
 */
export async function tellLateResult(
  ports: { readonly clock: Clock; readonly log: Log; readonly lateResults: LateResultStore },
  { fleet, key, attempt }: OpenRolloutItem,
  { reward }: WorkflowOutput,
  found: RolloutItem,
): Promise<void> {
  const { id, episode } = attempt;
  const closedAs = found.history.find((past) => past.id === id)?.reason;
  const facts = { rollout: key, attempt: id, episode, state: found.state, closed_as: closedAs };
  ports.log("warn", "result came too late: its attempt was closed", facts);
  const kept = rewardBytes(reward) <= REWARD_BYTES ? { reward } : {};
  await ports.lateResults
    .note(fleet, key, { v: 1, id, episode, at: ports.clock.now(), ...kept })
    .catch((error) => ports.log("warn", "late result not noted", { error: describeError(error, 300) }));
}
