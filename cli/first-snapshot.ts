/** A table without a snapshot: the deployment is new, or its lifecycle function does not run. */
import { DescribeTableCommand } from "@aws-sdk/client-dynamodb";
import type { TableOptions } from "../functions/adapters/table/client.ts";
import { span } from "./format.ts";

/** The first tick comes within a minute of the deployment's end, and a deployment takes minutes itself. */
const FIRST_SNAPSHOT_MS = 10 * 60_000;

/** Words for a snapshot that is still to come; undefined where the table is too old to wait for its first one. */
export async function notYet({ client, table }: TableOptions, now: number): Promise<string | undefined> {
  // Whoever may not ask for the table's age gets the advice for an old one.
  const found = await client.send(new DescribeTableCommand({ TableName: table })).catch(() => undefined);
  if (found === undefined) return undefined;
  const { Table } = found;
  const age = now - (Table?.CreationDateTime?.getTime() ?? 0);
  if (age > FIRST_SNAPSHOT_MS) return undefined;
  return (
    `no snapshot yet: the table is ${span(Math.max(0, age))} old, and the lifecycle function writes the first one within ` +
    "minutes of a deployment: wait"
  );
}
