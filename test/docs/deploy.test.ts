/** What `docs/deploy.md` says of costs and permissions follows from the prices and from the code. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { buildSync } from "esbuild";
import { describe, expect, test } from "vitest";
import policy from "../../docs/deployer-policy.json" with { type: "json" };
import { prices } from "../../functions/core/spend/prices.ts";
import { synthesise } from "../lib/synthesise.ts";

const root = join(import.meta.dirname, "../..");
const text = readFileSync(join(root, "docs/deploy.md"), "utf8");
const { lambda, sqs, dynamodb } = prices;
const million = (usd: number, count: number) => (usd * count) / 1e6;

/** Rows of the table below a heading in bold: what it is, and its last cell in USD. */
function rows(heading: string): Record<string, number> {
  const [, after = ""] = text.split(`**${heading}`);
  const [table = ""] = after.slice(after.indexOf("\n|")).trimStart().split("\n\n");
  const cells = table
    .split("\n")
    .slice(2)
    .map((line) => line.split("|").map((cell) => cell.replaceAll("*", "").trim()));
  return Object.fromEntries(cells.map((row) => [row[1] ?? "", Number(row.at(-2))]));
}

function rounded(values: Record<string, number>): Record<string, number> {
  return Object.fromEntries(Object.entries(values).map(([name, usd]) => [name, Math.round(usd * 100) / 100]));
}

/** Those that the alarms of one fleet and one engine look at; an expression is billed by its metrics. */
function metricsOfAlarms(): number {
  const alarms = Object.values(synthesise().findResources("AWS::CloudWatch::Alarm"));
  return alarms.reduce((sum, { Properties: { Metrics } }) => {
    const read = (Metrics as { MetricStat?: unknown }[] | undefined)?.filter(({ MetricStat }) => MetricStat);
    return sum + (read?.length ?? 1);
  }, 0);
}

describe("costs", () => {
  test("of an idle month", () => {
    const ticks = 30 * 24 * 60;
    const used = {
      "Lambda, time": ticks * 0.5 * lambda.usdPerGbSecond,
      "Lambda, requests": million(lambda.usdPerMillionRequests, ticks),
      "DynamoDB, writes": million(dynamodb.usdPerMillionWriteUnits, ticks * 9),
      "DynamoDB, reads": million(dynamodb.usdPerMillionReadUnits, ticks * 12),
      SQS: million(sqs.usdPerMillionRequests, ticks * (5 * 3 + 2)),
    };
    const watched = {
      "CloudWatch, metrics": 14 * 0.3,
      "CloudWatch, alarms": metricsOfAlarms() * 0.1,
      "CloudWatch, dashboard": 3,
      "CloudWatch, logs": ((ticks * 3000) / 1e9) * 0.5,
    };
    const sum = (values: object) => Object.values(values).reduce<number>((all, usd) => all + Number(usd), 0);
    expect(rows("Idle")).toEqual(
      rounded({
        ...used,
        "all that grows with use": sum(used),
        ...watched,
        all: sum(used) + sum(watched),
      }),
    );
  });

  test("of 10,000 episodes of 3 minutes", () => {
    const episodes = 10_000;
    const used = {
      "Lambda, time": ((episodes * 180) / 10) * 0.5 * lambda.usdPerGbSecond,
      "Lambda, requests": million(lambda.usdPerMillionRequests, episodes / 10),
      "DynamoDB, writes": million(dynamodb.usdPerMillionWriteUnits, episodes * 15),
      "DynamoDB, reads": million(dynamodb.usdPerMillionReadUnits, episodes * 4),
      SQS: million(sqs.usdPerMillionRequests, 2 * (episodes / 10) + episodes),
      "lifecycle function": 600 * 30 * 0.5 * lambda.usdPerGbSecond,
    };
    const all = Object.values(used).reduce((sum, usd) => sum + usd, 0);
    expect(rows("10,000 episodes")).toEqual(rounded({ ...used, all }));
    expect(text).toContain(`${(all / 10).toFixed(2)} for a thousand episodes`);
  });

  test("with the date of the prices", () => {
    expect([prices.asOf, prices.region]).toEqual(["2026-11", "us-east-1"]);
    expect(text).toContain("List prices of us-east-1, November 2026");
  });
});

test("the policy for those who deploy covers what the command line tool does, and little more", () => {
  const allowed = policy.Statement.flatMap(({ Action }) => Action);
  const { outputFiles } = buildSync({
    entryPoints: [join(root, "cli/sortie.ts")],
    bundle: true,
    write: false,
    format: "esm",
    platform: "node",
    packages: "external",
  });
  const code = outputFiles.map((file) => file.text).join("\n");
  const commands = [...code.matchAll(/new (\w+?)(?:Batch)?Command\(|\bpaginate(\w+)\(/g)];
  const names = new Set(commands.map(([, command, paginator]) => command ?? paginator ?? "").filter(Boolean));
  // These commands have other names than their actions.
  const others: Record<string, string> = { Invoke: "InvokeFunction", ListObjectsV2: "ListBucket" };
  const actions = [...names].map((name) => others[name] ?? name);
  const known = new Set(allowed.map((action) => action.split(":")[1]));
  expect(actions.filter((action) => !known.has(action))).toEqual([]);
  expect(allowed.filter((action) => action.includes("*"))).toEqual([]);
});
