/** Rollout items: one per rollout, every transition one conditional put. */
import type { Moved, RolloutStore } from "../../core/ports.ts";
import { isOpen, type RolloutItem, rolloutItemSchema } from "../../core/rollout-item.ts";
import { expiresTtl, type Key, type TableOptions } from "./client.ts";
import { type Condition, conditionalPut, getItem } from "./conditional-put.ts";

export interface RolloutStoreOptions extends TableOptions {
  readonly ttlDays: number;
}

export function rolloutKey(fleet: string, key: string): Key {
  return { pk: `ROLLOUT#${fleet}#${key}`, sk: "ROLLOUT" };
}

/** The inverse of `rolloutKey`: a fleet's name holds no `#`. */
export function parseRolloutKey(pk: string): { fleet: string; key: string } {
  const [, fleet = "", ...key] = pk.split("#");
  return { fleet, key: key.join("#") };
}

/** The partition of the index of open rollouts. */
export function openPartition(engine: string): string {
  return engine;
}
/** The partition, in the same index, of ended train rollouts that the engine's pool has not shown yet. */
export function unconfirmedPartition(engine: string): string {
  return `${engine}#unconfirmed`;
}

export function createRolloutStore(options: RolloutStoreOptions): RolloutStore {
  return {
    async read(fleet, key) {
      const found = await getItem(options, rolloutKey(fleet, key));
      return found && rolloutItemSchema.parse(found);
    },
    async move(left, next): Promise<Moved> {
      const outcome = await conditionalPut(options, stored(next, options.ttlDays), standsAs(left));
      if (outcome.put) return { moved: true, item: next };
      const found = outcome.found && rolloutItemSchema.parse(outcome.found);
      // A write whose answer was lost took place after all.
      return found?.stamp === next.stamp ? { moved: true, item: next } : { moved: false, found };
    },
  };
}

/** The item with its keys: in the open index while an attempt is open or its end unconfirmed. */
function stored(item: RolloutItem, ttlDays: number): Key & object {
  const indexed = {
    ...rolloutKey(item.fleet, item.key),
    ...item,
    ...openIndex(item),
    changed_fleet: item.fleet,
    expires_ttl: expiresTtl(item.changed_at, ttlDays),
  };
  return indexed;
}

function openIndex(item: RolloutItem): object {
  if (isOpen(item))
    return {
      open_engine: openPartition(item.engine),
      open_until: item.attempt.expires_at,
      invocation: item.attempt.invocation,
    };
  const unconfirmed =
    item.state === "ended" && item.episode_type === "train" && item.confirmed_at === undefined;
  return unconfirmed ? { open_engine: unconfirmedPartition(item.engine), open_until: item.changed_at } : {};
}

/** Names the state and the attempt that are left; the stamp pins the very write. */
function standsAs(left: RolloutItem | undefined): Condition {
  if (!left) return { expression: "attribute_not_exists(pk)" };
  const names = { "#state": "state", "#stamp": "stamp" };
  const values = { ":state": left.state, ":stamp": left.stamp };
  if (!left.attempt) return { expression: "#state = :state AND #stamp = :stamp", names, values };
  return {
    expression: "#state = :state AND #attempt.#id = :attempt AND #stamp = :stamp",
    names: { ...names, "#attempt": "attempt", "#id": "id" },
    values: { ...values, ":attempt": left.attempt.id },
  };
}
