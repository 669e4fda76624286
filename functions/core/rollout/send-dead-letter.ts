import type { QueueRecord } from "../queue.ts";
import type { FleetLimits, Ports } from "./context.ts";
import { deadLetter } from "./dead-letter.ts";
import type { RolloutItem } from "./item.ts";
import { lastAttempt, letterSent } from "./transitions.ts";
import { writeTransition } from "./write-transition.ts";

export async function sendDeadLetter(
  item: RolloutItem,
  record: QueueRecord,
  ports: Ports,
  limits: FleetLimits,
): Promise<void> {
  if (item.letter === "sent") {
    // Its letter says why, or said so until somebody removed it: this message changes nothing.
    ports.log(
      "warn",
      "message of a dead rollout is done with: redrive its letter, or push it under another run",
      {
        rollout: item.key,
        message_id: record.messageId,
        reason: lastAttempt(item)?.reason ?? "crashed",
      },
    );
    return;
  }
  const last = lastAttempt(item);
  const facts = {
    reason: last?.reason ?? "crashed",
    error: last?.detail ?? "",
    fleet: limits.fleet,
    rollout: item,
  };
  await ports.queue.sendDeadLetter(deadLetter(record, facts, ports.clock.now()));
  await writeTransition(ports, item, letterSent(item, ports.clock.now()));
  ports.log("error", "rollout is dead", { rollout: item.key, reason: facts.reason, attempts: item.attempts });
}
