/** Writes down how an attempt ended, once, whoever else is at it. */
import { invocationOf } from "../client-uuid.ts";
import { isOutcome, type Reason, usesUpAnAttempt } from "../reasons.ts";
import type { SettleLimits, SettlePorts } from "./context.ts";
import { isOpen, type OpenRolloutItem, type RolloutItem } from "./item.ts";
import { closed, lastAttempt } from "./transitions.ts";
import { currentItem, writeTransition } from "./write-transition.ts";

/** The item as it now stands, and whether its episode is settled; if not, the sweep or the next delivery goes on. */
export interface Settled {
  readonly item: RolloutItem;
  readonly settled: boolean;
}

/** Whether the attempt of `item` is still open in what was found. */
export function isSameAttempt(found: RolloutItem, item: OpenRolloutItem): boolean {
  return isOpen(found) && found.attempt.id === item.attempt.id;
}

/** Closes the attempt under `reason`; somebody's note on it in the meantime does not lose its end. */
export async function recordAttemptEnd(
  ports: SettlePorts,
  limits: SettleLimits,
  item: OpenRolloutItem,
  reason: Reason,
  detail?: string,
): Promise<Settled> {
  let previous = item;
  for (;;) {
    const end = { reason, now: ports.clock.now(), maxAttempts: limits.maxAttempts, detail };
    const next = closed(previous, { ...end, withoutPenalty: await ports.gate.isTripped() });
    const moved = await writeTransition(ports, previous, next);
    const found = currentItem(moved, previous);
    const stillOpen = isSameAttempt(found, item);
    const noted = isOpen(found) && stillOpen && !moved.moved && found.state === previous.state;
    // Somebody else noted something on this very attempt. If they went on with its report, the engine may have refused this
    // end because it took theirs: then they decide.
    if (noted && found.stamp !== previous.stamp && !(!isOutcome(reason) && item.state === "reporting")) {
      previous = found;
      continue;
    }
    logClosed(ports, item, reason, detail, moved.moved);
    if (moved.moved) await tellClosed(ports, moved.item);
    return { item: found, settled: !stillOpen };
  }
}

/** Only whoever wrote the end tells of it, so that it counts once. */
async function tellClosed(ports: SettlePorts, item: RolloutItem): Promise<void> {
  const last = lastAttempt(item);
  if (!last) return;
  const reward = last.reason === "ended" && typeof last.reward === "number" ? last.reward : undefined;
  const { reason, at, from } = last;
  ports.meter.attempt({ reason, reward, episodeType: item.episode_type, milliseconds: at - from });
  await ports.gate.note(reason, invocationOf(last.id), firstFailure(item));
}

/** Of the attempts before the last one: those that the rollout was, or may have been, to blame for. */
function firstFailure({ history }: RolloutItem): number | undefined {
  return history
    .slice(0, -1)
    .find((attempt) => usesUpAnAttempt(attempt.reason) || attempt.reason === "suspected")?.at;
}

function logClosed(
  ports: SettlePorts,
  item: OpenRolloutItem,
  reason: Reason,
  detail: string | undefined,
  written: boolean,
): void {
  ports.log(reason === "ended" ? "info" : "warn", `attempt ${reason}`, {
    rollout: item.key,
    attempt: item.attempt.id,
    episode: item.attempt.episode,
    reason,
    ...(reason === "ended" && item.attempt.result ? { reward: item.attempt.result.reward } : {}),
    ...(detail ? { detail } : {}),
    ...(written ? {} : { overtaken: true }),
  });
}
