/** Rollout items: one per rollout, every transition one conditional put. */
import * as z from "zod";
import { workflowOutputSchema } from "../../core/protocol.ts";
import {
  type Attempt,
  isOpen,
  type Moved,
  type RolloutItem,
  type RolloutReader,
  type RolloutStore,
  rolloutItemSchema,
} from "../../core/rollout/item.ts";
import { expiresTtl, type Key, type TableOptions } from "./client.ts";
import { type Condition, conditionalPut, getItem } from "./conditional-put.ts";

export interface RolloutStoreOptions extends TableOptions {
  /** How long an item stays after its last change. */
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

/** … and of those that it never showed. */
export function missingPartition(engine: string): string {
  return `${engine}#missing`;
}

export function createRolloutReader(options: TableOptions): RolloutReader {
  return {
    async read(fleet, key) {
      const found = await getItem(options, rolloutKey(fleet, key));
      return found && restored(found);
    },
  };
}

export function createRolloutStore(options: RolloutStoreOptions): RolloutStore {
  return {
    ...createRolloutReader(options),
    async move(previous, next): Promise<Moved> {
      const outcome = await conditionalPut(options, stored(next, options.ttlDays), standsAs(previous));
      if (outcome.put) return { moved: true, item: next };
      const found = outcome.found && restored(outcome.found);
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
    ...(item.attempt?.result ? { attempt: withResultText(item.attempt) } : {}),
    ...openIndex(item),
    changed_fleet: item.fleet,
    expires_ttl: expiresTtl(item.changed_at, ttlDays),
  };
  return indexed;
}

/**
 * The agent's result is kept as JSON text: its depth, numbers and names are the agent's choice, and DynamoDB refuses what
 * is deeper than 32 levels or beyond its range of numbers, and counts more bytes for short elements than JSON has.
 */
function withResultText(attempt: Attempt): object {
  return { ...attempt, result: JSON.stringify(attempt.result) };
}

function restored(found: Record<string, unknown>): RolloutItem {
  return storedItemSchema.parse(found);
}

const resultText = z
  .string()
  .transform((text) => workflowOutputSchema.parse(JSON.parse(text)))
  .optional();
const storedItemSchema = rolloutItemSchema.extend({
  attempt: rolloutItemSchema.shape.attempt.unwrap().extend({ result: resultText }).optional(),
});

function openIndex(item: RolloutItem): object {
  if (isOpen(item))
    return {
      open_engine: openPartition(item.engine),
      open_until: item.attempt.expires_at,
      invocation: item.attempt.invocation,
    };
  if (item.state !== "ended" || item.episode_type !== "train") return {};
  if (item.unseen_at !== undefined) return {};
  if (item.confirmed_at === undefined)
    return { open_engine: unconfirmedPartition(item.engine), open_until: item.changed_at };
  return item.confirmed_at === null
    ? { open_engine: missingPartition(item.engine), open_until: item.changed_at }
    : {};
}

/** Names the state and the attempt that are left; the stamp pins the very write. */
function standsAs(previous: RolloutItem | undefined): Condition {
  if (!previous) return { expression: "attribute_not_exists(pk)" };
  const names = { "#state": "state", "#stamp": "stamp" };
  const values = { ":state": previous.state, ":stamp": previous.stamp };
  if (!previous.attempt) return { expression: "#state = :state AND #stamp = :stamp", names, values };
  return {
    expression: "#state = :state AND #attempt.#id = :attempt AND #stamp = :stamp",
    names: { ...names, "#attempt": "attempt", "#id": "id" },
    values: { ...values, ":attempt": previous.attempt.id },
  };
}
