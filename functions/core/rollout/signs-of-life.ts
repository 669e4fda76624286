/** Living invocations say so in the table; one that is silent for too long is dead, and so is one whose time is up. */
import type { Clock } from "../clock.ts";
import { describeError } from "../errors.ts";
import type { Invocation, InvocationStore, Log } from "../ports.ts";

/** How often a living invocation says so, and after how much silence it counts as dead. */
export const HEARTBEAT_SECONDS = 50;
const SILENCE_FACTOR = 1.25;

export async function isAlive(
  ports: { invocations: InvocationStore },
  id: string,
  now: number,
): Promise<boolean> {
  const invocation = await ports.invocations.read(id);
  if (!invocation) return false;
  return now < invocation.silent_at && now < invocation.ends_at;
}

/** The item of an invocation that lives now. `silent_at` carries its own rhythm, so that readers need not know it. */
export function lifeSign(
  of: { id: string; fleet: string; endsAt: number },
  now: number,
  heartbeatSeconds: number,
): Invocation {
  return {
    id: of.id,
    fleet: of.fleet,
    alive_at: now,
    silent_at: now + heartbeatSeconds * 1000 * SILENCE_FACTOR,
    ends_at: of.endsAt,
  };
}

/** Says so again and again until the signal fires. */
export async function keepSayingAlive(
  ports: { clock: Clock; invocations: InvocationStore; log: Log },
  of: { id: string; fleet: string; endsAt: number },
  heartbeatSeconds: number,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    await ports.clock.sleep(heartbeatSeconds * 1000, signal).catch(() => undefined);
    if (signal.aborted) return;
    await ports.invocations
      .alive(lifeSign(of, ports.clock.now(), heartbeatSeconds))
      .catch((error) => ports.log("warn", "heartbeat failed", { error: describeError(error) }));
  }
}
