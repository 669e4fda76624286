/** What people ask of rollouts: which have ended, which changed last. Read only, not always consistent. */
import {
  BatchGetItemCommand,
  type BatchGetItemCommandOutput,
  type KeysAndAttributes,
  QueryCommand,
} from "@aws-sdk/client-dynamodb";
import {
  type Attributes,
  fromAttributes,
  type TableOptions,
  toAttributes,
} from "../functions/adapters/table/client.ts";
import { CHANGE_INDEX } from "../functions/adapters/table/lifecycle.ts";
import { parseRolloutKey, rolloutKey } from "../functions/adapters/table/rollouts.ts";
import type { ChangedRollout } from "../functions/core/housekeeping/totals.ts";
import { type RolloutState, rolloutStates } from "../functions/core/rollout/item.ts";

/** DynamoDB's limit. */
const KEYS_PER_CALL = 100;
/** Calls for what the table did not get round to, each after a longer pause. */
const TRIES = 8;

/** The states of those rollouts that the table knows. Keys must differ. */
export async function readStates(
  options: TableOptions,
  fleet: string,
  keys: readonly string[],
): Promise<Map<string, RolloutState>> {
  const states = new Map<string, RolloutState>();
  for (let start = 0; start < keys.length; start += KEYS_PER_CALL) {
    const some = keys.slice(start, start + KEYS_PER_CALL).map((key) => toAttributes(rolloutKey(fleet, key)));
    for (const item of await batchGet(options, some)) {
      const { pk, state } = fromAttributes(item) as { pk: string; state: string };
      const known = rolloutStates.find((one) => one === state);
      if (known) states.set(parseRolloutKey(pk).key, known);
    }
  }
  return states;
}

async function batchGet({ client, table }: TableOptions, keys: Attributes[]): Promise<Attributes[]> {
  const found: Attributes[] = [];
  let waiting: KeysAndAttributes | undefined = {
    Keys: keys,
    ProjectionExpression: "pk, #state",
    ExpressionAttributeNames: { "#state": "state" },
  };
  for (let tries = 1; waiting?.Keys?.length; tries += 1) {
    if (tries > TRIES)
      throw new Error(`expected the table to answer ${TRIES} times, found it throttling: try again later`);
    const answer: BatchGetItemCommandOutput = await client.send(
      new BatchGetItemCommand({ RequestItems: { [table]: waiting } }),
    );
    found.push(...(answer.Responses?.[table] ?? []));
    waiting = answer.UnprocessedKeys?.[table];
    if (waiting?.Keys?.length) await new Promise((resolve) => setTimeout(resolve, 50 * 2 ** tries));
  }
  return found;
}

export interface ShownRollout extends ChangedRollout {
  readonly fleet: string;
  /** Unix ms. */
  readonly changed_at: number;
  readonly attempts: number;
}

/** A fleet's rollouts that changed since `since` (unix ms) and are as asked for, newest first, at most `limit`. */
export async function recentRollouts(
  { client, table }: TableOptions,
  fleet: string,
  wanted: { since: number; limit: number; state?: string | undefined; task?: string | undefined },
): Promise<ShownRollout[]> {
  const rollouts: ShownRollout[] = [];
  const filters = [
    ...(wanted.state === undefined ? [] : ["#state = :state"]),
    ...(wanted.task === undefined ? [] : ["task_id = :task"]),
  ];
  const query = {
    TableName: table,
    IndexName: CHANGE_INDEX,
    ScanIndexForward: false,
    KeyConditionExpression: "changed_fleet = :fleet AND changed_at >= :since",
    ...(filters.length > 0 ? { FilterExpression: filters.join(" AND ") } : {}),
    ...(wanted.state === undefined ? {} : { ExpressionAttributeNames: { "#state": "state" } }),
    ExpressionAttributeValues: toAttributes({
      ":fleet": fleet,
      ":since": wanted.since,
      ":state": wanted.state,
      ":task": wanted.task,
    }),
  };
  let from: Attributes | undefined;
  do {
    const page = await client.send(
      new QueryCommand({ ...query, ...(from ? { ExclusiveStartKey: from } : {}) }),
    );
    rollouts.push(...(page.Items ?? []).map(shownRollout));
    from = page.LastEvaluatedKey;
  } while (from && rollouts.length < wanted.limit);
  return rollouts.slice(0, wanted.limit);
}

function shownRollout(item: Attributes): ShownRollout {
  const { pk, ...rollout } = fromAttributes(item) as Omit<ShownRollout, "fleet" | "key"> & { pk: string };
  return { ...rollout, ...parseRolloutKey(pk) };
}
