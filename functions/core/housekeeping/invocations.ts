/**
 * Which invocations are dead. The sweep looks at their items time and again, and remembers for how long it has seen each
 * unchanged, by its own clock; what it cannot read, or not write down, proves nothing.
 *
 *     beat   |     |     |     x died
 *     look    |     |     |     |     |     |   silent for as long as the item says: declared dead
 */
import * as z from "zod";
import type { Clock } from "../clock.ts";
import { describeError } from "../errors.ts";
import type { Log } from "../log.ts";
import { isLiving, silenceOf } from "../rollout/heartbeat.ts";
import type { Invocation, InvocationIndex } from "../rollout/invocation.ts";

export const invocationWatchSchema = z.object({
  version: z.number(),
  /** Unix ms of the last look. */
  looked_at: z.number(),
  /** By id: the `alive_at` that was seen last, and the milliseconds for which it has been seen unchanged. */
  seen: z.record(z.string(), z.object({ beat: z.number(), silent_ms: z.number() })),
});
export type InvocationWatch = z.infer<typeof invocationWatchSchema>;

export interface WatchStore {
  read(engine: string): Promise<InvocationWatch | undefined>;
  /** False, and nothing written, where another version stands. */
  write(engine: string, previous: InvocationWatch | undefined, next: InvocationWatch): Promise<boolean>;
}

export interface InvocationPorts {
  readonly clock: Clock;
  readonly log: Log;
  readonly invocations: InvocationIndex;
  readonly watch: WatchStore;
}

export interface Invocations {
  /** All that have an item, by id. */
  readonly items: ReadonlyMap<string, Invocation>;
  readonly living: number;
  isDead(id: string): boolean;
}

/** @param also ids that something open names; one that has no item is dead */
export async function lookAtInvocations(
  ports: InvocationPorts,
  engine: string,
  fleets: readonly string[],
  also: readonly string[],
): Promise<Invocations> {
  const known = await Promise.all(fleets.map((fleet) => ports.invocations.idsOf(fleet)));
  const found = await ports.invocations.readAll([...new Set([...known.flat(), ...also])]);
  const items = new Map(found.map((invocation) => [invocation.id, invocation]));
  const living = found.filter((invocation) => isLiving(invocation, ports.clock.now()));
  const alive = new Set(living.map(({ id }) => id));
  for (const invocation of await silentOf(ports, engine, living))
    if (await declareDead(ports, invocation)) alive.delete(invocation.id);
  return { items, living: alive.size, isDead: (id) => !alive.has(id) };
}

async function silentOf(
  ports: InvocationPorts,
  engine: string,
  living: readonly Invocation[],
): Promise<Invocation[]> {
  try {
    const previous = await ports.watch.read(engine);
    if (living.length === 0 && Object.keys(previous?.seen ?? {}).length === 0) return [];
    const next = observe(previous, living, ports.clock.now());
    // Written first: a table that takes no writes takes no heartbeats either.
    if (!(await ports.watch.write(engine, previous, next))) return [];
    return living.filter((one) => (next.seen[one.id]?.silent_ms ?? 0) >= silenceOf(one));
  } catch (error) {
    ports.log("warn", "invocations could not be watched", { error: describeError(error, 300) });
    return [];
  }
}

/**
 * One look more. However long ago the last one was, it adds at most half of an invocation's silence: in between the table
 * may have been away, for readers and writers alike.
 */
export function observe(
  previous: InvocationWatch | undefined,
  living: readonly Invocation[],
  now: number,
): InvocationWatch {
  const passed = Math.max(0, now - (previous?.looked_at ?? now));
  const seen = living.map((invocation) => {
    const { id, alive_at: beat } = invocation;
    const before = previous?.seen[id];
    const step = Math.min(passed, silenceOf(invocation) / 2);
    return [id, { beat, silent_ms: before?.beat === beat ? before.silent_ms + step : 0 }] as const;
  });
  return { version: (previous?.version ?? 0) + 1, looked_at: now, seen: Object.fromEntries(seen) };
}

async function declareDead(ports: InvocationPorts, invocation: Invocation): Promise<boolean> {
  const facts = { invocation: invocation.id, fleet: invocation.fleet };
  try {
    if (!(await ports.invocations.declareDead(invocation, ports.clock.now()))) return false;
    ports.log("warn", "invocation declared dead", facts);
    return true;
  } catch (error) {
    ports.log("warn", "invocation not declared dead", { ...facts, error: describeError(error, 300) });
    return false;
  }
}
