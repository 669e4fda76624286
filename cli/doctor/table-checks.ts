/** The command itself, the table, and the clock. */
import {
  DescribeTableCommand,
  DescribeTimeToLiveCommand,
  type TableDescription,
} from "@aws-sdk/client-dynamodb";
import { CHANGE_INDEX, OPEN_INDEX } from "../../functions/adapters/table/lifecycle.ts";
import manifest from "../../package.json" with { type: "json" };
import type { Deployment } from "../deployment.ts";
import { span } from "../format.ts";
import { type Check, type CheckPorts, failed, ok, unknown } from "./finding.ts";

/** Those that need nothing but the table and what the deployment says of itself. */
export function tableChecks({ deployment, now }: CheckPorts): Check[] {
  const describe = async () => {
    const { client, table } = await deployment.table();
    const { Table } = await client.send(new DescribeTableCommand({ TableName: table }));
    return Table;
  };
  return [
    { name: "versions", run: async () => versions() },
    { name: "table", run: async () => tableShape(await describe()) },
    { name: "table: expiry", run: async () => await expiry(deployment) },
    { name: "clock", run: async () => await clockSkew(deployment, now) },
  ];
}

function versions() {
  const text = `sortie ${manifest.version} on Node.js ${process.versions.node}`;
  if (Number.parseInt(process.versions.node, 10) >= 24) return ok(text);
  return failed(
    `${text}: expected Node.js 24 or newer, as Lambda runs: use npx sortie in the project's folder`,
  );
}

function tableShape(table: TableDescription | undefined) {
  const keys = table?.KeySchema?.map(({ AttributeName }) => AttributeName).join(", ");
  if (keys !== "pk, sk")
    return failed(`expected the keys pk, sk, found ${keys}: is it Sortie's? check --table`);
  const indexes = new Map(
    table?.GlobalSecondaryIndexes?.map((index) => [index.IndexName, index.IndexStatus]),
  );
  const missing = [OPEN_INDEX, CHANGE_INDEX].filter((name) => !indexes.has(name));
  if (missing.length > 0)
    return failed(`expected the indexes ${missing.join(", ")}, found none: deploy this release`);
  const busy = [table?.TableStatus, ...indexes.values()].find((status) => status !== "ACTIVE");
  if (busy) return failed(`expected it ACTIVE, found ${busy}: wait until the deployment has ended`);
  return ok(`${table?.TableName} with its two indexes, about ${table?.ItemCount ?? 0} items`);
}

const TTL_ATTRIBUTE = "expires_ttl";

async function expiry(deployment: Deployment) {
  if (deployment.local) return unknown("the local table server does not expire items");
  const { client, table } = await deployment.table();
  const { TimeToLiveDescription: ttl } = await client.send(
    new DescribeTimeToLiveCommand({ TableName: table }),
  );
  if (ttl?.TimeToLiveStatus === "ENABLED" && ttl.AttributeName === TTL_ATTRIBUTE)
    return ok(`by ${TTL_ATTRIBUTE}`);
  const found = `${ttl?.TimeToLiveStatus ?? "nothing"} ${ttl?.AttributeName ?? ""}`.trim();
  return failed(
    `expected items to expire by ${TTL_ATTRIBUTE}, found ${found}: deploy again, or the table only grows`,
  );
}

/** Rollouts carry deadlines: a minute is the margin of what the functions allow for. */
const MOST_SKEW_MS = 30_000;

async function clockSkew(deployment: Deployment, now: () => number) {
  const { client, table } = await deployment.table();
  let date: string | undefined;
  const command = new DescribeTableCommand({ TableName: table });
  command.middlewareStack.add(
    (next) => async (args) => {
      const result = await next(args);
      date = (result.response as { headers?: Record<string, string> }).headers?.["date"];
      return result;
    },
    { step: "deserialize", name: "readDate" },
  );
  const before = now();
  await client.send(command);
  if (date === undefined) return unknown("the server says no time");
  // The header has whole seconds, and the answer took its way.
  const skew = Date.parse(date) + 500 - (before + now()) / 2;
  if (Math.abs(skew) <= MOST_SKEW_MS)
    return ok("this machine's and the table's agree to within half a minute");
  const direction = skew > 0 ? "behind" : "ahead of";
  return failed(
    `this machine's is ${span(Math.abs(skew))} ${direction} AWS's: set it (NTP), or times shown here are wrong and AWS refuses calls`,
  );
}
