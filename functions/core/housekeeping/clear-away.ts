/** What invocations leave behind beside episodes: messages that are hidden, and usage that nobody has added up. */

import type { Gate } from "../circuit/gate.ts";
import type { Clock } from "../clock.ts";
import { describeError } from "../errors.ts";
import type { Log } from "../log.ts";
import type { Queue } from "../queue.ts";
import type { Invocation, InvocationStore } from "../rollout/invocation.ts";
import { isOpen, type RolloutStore } from "../rollout/item.ts";
import { dayOf, type UsageStore } from "../spend/spend.ts";
import type { Invocations } from "./invocations.ts";

interface ClearPorts {
  readonly clock: Clock;
  readonly log: Log;
  readonly rollouts: Pick<RolloutStore, "read">;
  readonly invocations: InvocationStore;
  readonly usage: Pick<UsageStore, "add">;
  readonly fleets: ReadonlyMap<string, { readonly gate: Gate; readonly queue: Pick<Queue, "show"> }>;
}

interface Leftover {
  readonly fleet: string;
  readonly key: string;
  readonly invocation: string;
}

/** Before the leftovers are settled: their messages are released when they are, and by then their receipts are gone. */
export async function clearAway(
  ports: ClearPorts,
  invocations: Invocations,
  leftovers: readonly Leftover[],
  until: number,
): Promise<void> {
  const probing = new Set<string>();
  for (const invocation of invocations.items.values()) {
    if (!invocations.isDead(invocation.id)) continue;
    if (ports.clock.now() > until) return;
    const mine = leftovers.filter((leftover) => leftover.invocation === invocation.id);
    await clear(ports, invocation, mine, probing).catch((error) =>
      ports.log("warn", "invocation not cleared away", {
        invocation: invocation.id,
        error: describeError(error, 300),
      }),
    );
  }
}

async function clear(
  ports: ClearPorts,
  invocation: Invocation,
  leftovers: readonly Leftover[],
  probing: Set<string>,
): Promise<void> {
  const fleet = ports.fleets.get(invocation.fleet);
  if (!fleet) return;
  if (invocation.ended_at !== undefined) return await unpark(ports, fleet, invocation, probing);
  const items = await Promise.all(leftovers.map(({ fleet: name, key }) => ports.rollouts.read(name, key)));
  const held = new Set(items.flatMap((item) => (item && isOpen(item) ? [item.attempt.receipt] : [])));
  const receipts = [...(invocation.waiting ?? []), ...(invocation.parked ?? [])];
  await fleet.queue.show(receipts.filter((receipt) => !held.has(receipt)));
  // Its item has waited for this: nobody else has shown its messages, or counted it.
  if (!(await ports.invocations.done(invocation.id)) || !invocation.used) return;
  await ports.usage.add(invocation.fleet, dayOf(ports.clock.now()), invocation.used);
}

/** Shows the messages once the gate is open; while the circuit is, one of them when it is time to try. */
async function unpark(
  ports: ClearPorts,
  fleet: { readonly gate: Gate; readonly queue: Pick<Queue, "show"> },
  invocation: Invocation,
  probing: Set<string>,
): Promise<void> {
  const parked = invocation.parked ?? [];
  if ((await fleet.gate.closedFor(undefined)) === undefined) {
    await fleet.queue.show(parked);
    await ports.invocations.done(invocation.id);
    return;
  }
  if (probing.has(invocation.fleet) || !(await fleet.gate.isProbeDue())) return;
  probing.add(invocation.fleet);
  await fleet.queue.show(parked.slice(0, 1));
  const rest = parked.slice(1);
  if (rest.length > 0) await ports.invocations.alive({ ...invocation, parked: rest });
  else await ports.invocations.done(invocation.id);
}
