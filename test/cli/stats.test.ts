import { statSync } from "node:fs";
import { createServer } from "node:net";
import { PutItemCommand } from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { toAttributes } from "../../functions/adapters/table/client.ts";
import { createLifecycleStore, latestKey } from "../../functions/adapters/table/lifecycle.ts";
import { createTables, startTableServer, type TableServer } from "../../local/servers/table-server.ts";
import manifest from "../../package.json" with { type: "json" };
import { sendText, serve } from "../support/http-server.ts";
import { local, sortie } from "./command.ts";
import { AT, fleetOf, snapshotOf } from "./samples.ts";

const TABLE = "stats";
let server: TableServer;
let endpoint: string[];

beforeAll(async () => {
  server = await startTableServer();
  endpoint = ["--endpoint-url", server.endpoint];
  const keys = [
    { AttributeName: "pk", KeyType: "HASH" as const },
    { AttributeName: "sk", KeyType: "RANGE" as const },
  ];
  const attributes = keys.map(({ AttributeName }) => ({ AttributeName, AttributeType: "S" as const }));
  await createTables(server, [{ name: TABLE, keys, attributes, indexes: [] }]);
  const store = createLifecycleStore({ client: server.client, table: TABLE, snapshotTtlDays: 30 });
  await store.writeSnapshot(old);
  await store.writeSnapshot({ ...fresh, at: new Date().toISOString() });
  const other = { ...latestKey("newer"), v: 2 };
  await server.client.send(new PutItemCommand({ TableName: TABLE, Item: toAttributes(other) }));
});
afterAll(async () => await server.close());

const old = snapshotOf({ engine: "main", fleets: { math: fleetOf({ ended: 41 }) } });
const fresh = snapshotOf({ engine: "second" });

describe("sortie stats", () => {
  test("prints the newest snapshot of engine main, and how old it is", async () => {
    const { code, out, err } = await sortie(["stats", "--table", TABLE, ...endpoint]);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toMatch(/^Engine main: ENGINE\.ROLLING · step 3 · snapshot of 2026-05-04T10:00:00\.000Z, /);
    expect(out).toContain("Caution: this snapshot is ");
    expect(out).toMatch(/│ Completed tasks: \(current\) \/ \(required\) +│ 1 \/ 2 +│/);
    expect(out).toMatch(/│ train: ended +│ +41 │/);
    expect(out).not.toContain("\u001b");
  });

  test("of another engine, from the table that the environment names", async () => {
    const environment = { ...local, SORTIE_TABLE: TABLE };
    const { code, out } = await sortie(["stats", "--engine", "second", ...endpoint], environment);
    expect(code).toBe(0);
    expect(out).toMatch(/^Engine second: /);
    expect(out).not.toContain("Caution");
  });

  test("colours where it is told to", async () => {
    const environment = { ...local, FORCE_COLOR: "1" };
    const { out } = await sortie(["stats", "--table", TABLE, ...endpoint], environment);
    expect(out.slice(0, 15)).toBe("\u001b[1mEngine main");
  });

  test("--json prints the snapshot alone; that it is old goes to standard error", async () => {
    const { code, out, err } = await sortie(["stats", "--json", "--table", TABLE, ...endpoint]);
    expect(code).toBe(0);
    expect(JSON.parse(out)).toEqual(old);
    expect(err).toMatch(/^sortie: this snapshot is .+ old, expected one each minute: .+\n$/);
  });

  test("--json of a fresh snapshot warns of nothing", async () => {
    const { out, err } = await sortie([
      "stats",
      "--json",
      "--engine",
      "second",
      "--table",
      TABLE,
      ...endpoint,
    ]);
    expect(JSON.parse(out)).toMatchObject({ engine: "second", fleets: fresh.fleets });
    expect(JSON.parse(out).at).not.toBe(AT);
    expect(err).toBe("");
  });
});

describe("exit code 1 and one line", () => {
  const cases: [string, string[], RegExp][] = [
    [
      "no snapshot yet",
      ["--engine", "none"],
      /^no snapshot yet: the table is \d+ s old, .+: wait \(sortie stats --watch waits for it\)$/,
    ],
    [
      "no table",
      ["--table", "missing"],
      /^expected the table missing, found none of that name at http:\/\/127/,
    ],
    [
      "an item of another release",
      ["--engine", "newer"],
      /^the item in the table stats is not of the shape .*use the sortie command of the release that is deployed$/,
    ],
  ];

  test.each(cases)("%s", async (_, args, message) => {
    expectOneLine(await sortie(["stats", "--table", TABLE, ...endpoint, ...args]), message);
  });

  test("an endpoint where nobody listens", async () => {
    const url = `http://127.0.0.1:${await freePort()}`;
    const ran = await sortie(["stats", "--table", TABLE, "--endpoint-url", url]);
    expectOneLine(ran, /^DynamoDB cannot be reached at http:\/\/127\.0\.0\.1:\d+ \(ECONNREFUSED\): check/);
  });

  test.each([
    ["HTML with 200", 200],
    ["HTML with 404", 404],
  ])("an endpoint that is no DynamoDB: %s", async (_, status) => {
    await using page = await serve((__, response) =>
      sendText(response, status, "<html></html>", "text/html"),
    );
    const ran = await sortie(["stats", "--table", TABLE, "--endpoint-url", page.url]);
    expectOneLine(ran, /^expected DynamoDB at http:.*, found a server that answers something else: check/);
  });

  test("no credentials", async () => {
    const ran = await sortie(["stats", "--table", TABLE, ...endpoint], { AWS_REGION: "us-east-1" });
    expectOneLine(ran, /^expected AWS credentials, found none that work \(.+\): log in/);
  });

  test("a profile that is not there, even with other credentials in the environment", async () => {
    const ran = await sortie(["stats", "--table", TABLE, ...endpoint, "--profile", "nobody"]);
    expectOneLine(
      ran,
      /^expected AWS credentials, found none that work in the profile nobody \(.+\): log in/,
    );
  });

  test("no region", async () => {
    const { AWS_REGION: _, ...environment } = local;
    const ran = await sortie(["stats", "--table", TABLE, ...endpoint], environment);
    expectOneLine(ran, /^expected an AWS region, found none: .*; --local looks at a system on this machine$/);
  });

  function expectOneLine({ code, out, err }: Awaited<ReturnType<typeof sortie>>, message: RegExp) {
    expect({ code, out }).toEqual({ code: 1, out: "" });
    expect(err).toMatch(/^sortie: [^\n]+\n$/);
    expect(err.trimEnd().replace(/^sortie: /, "")).toMatch(message);
  }
});

describe("exit code 2", () => {
  test.each([
    ["a span that is none", ["stats", "--since", "soon"], "Expected a span such as 90s, 30m, 2h or 7d."],
    ["an option that does not exist", ["stats", "--tabel", "x"], "unknown option '--tabel'"],
    ["a command that does not exist", ["stat"], "unknown command 'stat'"],
    [
      "an endpoint that is no address",
      ["stats", "--endpoint-url", "localhost:8000"],
      "Expected an address such as",
    ],
    ["a left-over argument", ["stats", "--table", "x", "more"], "too many arguments"],
    ["no command at all", [], "Usage: sortie"],
  ])("%s", async (_, args, message) => {
    const { code, out, err } = await sortie(args);
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(err).toContain(message);
  });
});

describe("exit code 0 without a table", () => {
  test("--help documents options, examples and exit codes", async () => {
    const { code, out, err } = await sortie(["stats", "--help"]);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    for (const part of [
      "--engine",
      "--table",
      "SORTIE_TABLE",
      "--region",
      "--profile",
      "--endpoint-url",
      "--json",
    ])
      expect(out).toContain(part);
    expect(out).toContain("$ sortie stats --json");
    expect(out).toMatch(/Exit codes:\n {2}0 .*\n {2}1 .*\n {2}2 .*\n {2}130 /);
  });

  test("--version", async () => {
    expect(await sortie(["--version"])).toEqual({ code: 0, out: `${manifest.version}\n`, err: "" });
  });
});

test("npx can execute the script", () => {
  const { mode } = statSync(new URL("../../cli/sortie.ts", import.meta.url));
  expect(mode & 0o111).not.toBe(0);
});

/** A port that was free a moment ago. */
async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, "127.0.0.1", resolve));
  const address = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  return typeof address === "object" && address ? address.port : 0;
}
