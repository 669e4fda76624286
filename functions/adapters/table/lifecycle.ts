/** What the lifecycle function reads and writes: open rollouts, totals and snapshots. */
import { PutItemCommand, paginateQuery, QueryCommand } from "@aws-sdk/client-dynamodb";
import { type Snapshot, snapshotSchema } from "../../core/housekeeping/snapshot.ts";
import type { OpenRollout } from "../../core/housekeeping/sweep-ports.ts";
import type { LifecycleReader, LifecycleStore } from "../../core/housekeeping/take-snapshot.ts";
import { type ChangedRollout, fleetTotalsSchema } from "../../core/housekeeping/totals.ts";
import {
  type Attributes,
  expiresTtl,
  fromAttributes,
  type Key,
  type TableOptions,
  toAttributes,
} from "./client.ts";
import { conditionalPut, getItem, versionedPut } from "./conditional-put.ts";
import { missingPartition, openPartition, parseRolloutKey, unconfirmedPartition } from "./rollouts.ts";

export interface LifecycleStoreOptions extends TableOptions {
  readonly snapshotTtlDays: number;
}

export const OPEN_INDEX = "open-by-expiry";
export const CHANGE_INDEX = "by-change";

const totalsKey = (fleet: string): Key => ({ pk: `FLEET#${fleet}`, sk: "TOTALS" });
export const latestKey = (engine: string): Key => ({ pk: `ENGINE#${engine}`, sk: "LATEST" });
const snapshotKey = (engine: string, at: string): Key => ({ pk: `ENGINE#${engine}`, sk: `SNAPSHOT#${at}` });

export function createLifecycleReader(options: TableOptions): LifecycleReader {
  const { client, table } = options;
  return {
    async openRollouts(engine) {
      const open: OpenRollout[] = [];
      const query = partition(OPEN_INDEX, "open_engine", openPartition(engine));
      for await (const page of paginateQuery({ client }, { TableName: table, ...query }))
        open.push(...(page.Items ?? []).map(openRollout));
      return open;
    },
    async unconfirmed(engine, limit) {
      const query = partition(OPEN_INDEX, "open_engine", unconfirmedPartition(engine));
      const { Items = [] } = await client.send(
        new QueryCommand({ TableName: table, ...query, Limit: limit }),
      );
      return Items.map(openRollout);
    },
    async countMissing(engine) {
      let count = 0;
      const query = partition(OPEN_INDEX, "open_engine", missingPartition(engine));
      for await (const page of paginateQuery({ client }, { TableName: table, ...query, Select: "COUNT" }))
        count += page.Count ?? 0;
      return count;
    },
    async *changedSince(fleet, since) {
      const query = {
        TableName: table,
        IndexName: CHANGE_INDEX,
        KeyConditionExpression: "changed_fleet = :fleet AND changed_at >= :since",
        ExpressionAttributeValues: toAttributes({ ":fleet": fleet, ":since": since }),
      };
      for await (const page of paginateQuery({ client }, query))
        yield (page.Items ?? []).map((item) => changedRollout(item));
    },
    async readTotals(fleet) {
      const found = await getItem(options, totalsKey(fleet));
      return found && fleetTotalsSchema.parse(found);
    },
  };
}

export function createLifecycleStore(options: LifecycleStoreOptions): LifecycleStore {
  const { client, table } = options;
  return {
    ...createLifecycleReader(options),
    async writeTotals(fleet, previous, next) {
      const item = { ...totalsKey(fleet), v: 1, ...next };
      return await versionedPut(options, item, previous);
    },
    async writeSnapshot(snapshot) {
      const expires = expiresTtl(Date.parse(snapshot.at), options.snapshotTtlDays);
      const byTime = { ...snapshotKey(snapshot.engine, snapshot.at), ...snapshot, expires_ttl: expires };
      const latest = { ...latestKey(snapshot.engine), ...snapshot };
      await client.send(new PutItemCommand({ TableName: table, Item: toAttributes(byTime) }));
      // A slow tick must not overwrite what a younger one has seen.
      await conditionalPut(options, latest, {
        expression: "attribute_not_exists(pk) OR #at < :at",
        names: { "#at": "at" },
        values: { ":at": snapshot.at },
      });
    },
  };
}

/** The newest snapshot of an engine, or undefined before its first tick. */
export async function readLatestSnapshot(
  options: TableOptions,
  engine: string,
): Promise<Snapshot | undefined> {
  const found = await getItem(options, latestKey(engine));
  return found && snapshotSchema.parse(found);
}

/** Snapshots of an engine from `since` (ISO 8601) on, oldest first. */
export async function readSnapshots(
  options: TableOptions,
  engine: string,
  since: string,
): Promise<Snapshot[]> {
  const { client, table } = options;
  const snapshots: Snapshot[] = [];
  const query = {
    TableName: table,
    KeyConditionExpression: "pk = :pk AND sk BETWEEN :from AND :to",
    ExpressionAttributeValues: toAttributes({
      ":pk": latestKey(engine).pk,
      ":from": `SNAPSHOT#${since}`,
      ":to": "SNAPSHOT#~",
    }),
  };
  for await (const page of paginateQuery({ client }, query))
    snapshots.push(...(page.Items ?? []).map((item) => snapshotSchema.parse(fromAttributes(item))));
  return snapshots;
}

function partition(index: string, attribute: string, value: string) {
  return {
    IndexName: index,
    KeyConditionExpression: "#partition = :partition",
    ExpressionAttributeNames: { "#partition": attribute },
    ExpressionAttributeValues: toAttributes({ ":partition": value }),
  };
}

function openRollout(item: Attributes): OpenRollout {
  const { pk, invocation } = fromAttributes(item) as { pk: string; invocation?: string };
  return { ...parseRolloutKey(pk), invocation: invocation ?? "" };
}

function changedRollout(item: Attributes): ChangedRollout {
  const { pk, ...rollout } = fromAttributes(item) as ChangedRollout & { pk: string };
  return { ...rollout, key: parseRolloutKey(pk).key };
}
