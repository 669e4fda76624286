import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { announceLocalRun, type LocalRun, readLocalRun, retractLocalRun } from "../../cli/local-run.ts";
import { createLifecycleStore } from "../../functions/adapters/table/lifecycle.ts";
import { local } from "./command.ts";
import { type Deployed, startDeployment } from "./deployment.ts";
import { sortie } from "./here.ts";
import { snapshotOf } from "./samples.ts";

let deployed: Deployed;
let folder: string;
beforeAll(async () => {
  deployed = await startDeployment(["main", "math"]);
  folder = await mkdtemp(join(tmpdir(), "connection-"));
  const store = createLifecycleStore({ ...deployed.table, snapshotTtlDays: 1 });
  await store.writeSnapshot(snapshotOf({ at: new Date().toISOString() }));
});
afterAll(async () => {
  await deployed[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

describe("a deployment is found", () => {
  test("by the stack's name, Sortie where none is given", async () => {
    expect(await sortie(["stats"], { environment: deployed.environment })).toMatchObject({
      code: 0,
      err: "",
    });
    const named = await sortie(["stats", "--stack", "Sortie"], { environment: deployed.environment });
    expect(named.out).toMatch(/^Engine main: ENGINE\.ROLLING/);
  });

  test("by its table, whatever stack the environment names", async () => {
    const environment = { ...deployed.environment, SORTIE_STACK: "Gone", SORTIE_TABLE: deployed.table.table };
    expect(await sortie(["stats"], { environment })).toMatchObject({ code: 0, err: "" });
  });

  test("by the stack of the command line rather than the table of the environment", async () => {
    const environment = { ...deployed.environment, SORTIE_TABLE: "other" };
    expect(await sortie(["stats", "--stack", "Sortie"], { environment })).toMatchObject({ code: 0, err: "" });
    const { err } = await sortie(["stats"], { environment });
    expect(err).toBe(
      "sortie: expected the table other, found none of that name: check --table (the stack's output TableName), " +
        "--region and --profile\n",
    );
  });

  test("not by the name of a stack that is not there", async () => {
    const ran = await sortie(["stats", "--stack", "Gone"], { environment: deployed.environment });
    expect(ran).toMatchObject({ code: 1, out: "" });
    expect(ran.err).toBe(
      "sortie: expected the stack Gone, found none of that name: check --stack, --region and --profile; give --table " +
        "(and --queue-url) to do without; --local looks at a local run\n",
    );
  });

  test("each message of a refused call names the service and what to ask for", async () => {
    const environment = { ...deployed.environment, AWS_ENDPOINT_URL_CLOUDFORMATION: "http://127.0.0.1:1" };
    const { err } = await sortie(["stats"], { environment });
    expect(err).toMatch(/^sortie: CloudFormation cannot be reached \(ECONNREFUSED\): check the network/);
  });
});

describe("a local run", () => {
  const run = (facts: Partial<LocalRun> = {}): LocalRun => ({
    v: 1,
    pid: process.pid,
    started_at: "2026-05-04T10:00:00.000Z",
    region: "us-east-1",
    endpoints: deployed.endpoints,
    engine_url: "http://127.0.0.1:1",
    table: deployed.table.table,
    fleets: [...deployed.fleets],
    log: "functions.log",
    ...facts,
  });
  const file = () => join(folder, "run.json");
  const environment = () => ({ SORTIE_LOCAL_RUN: file() });

  test("is found by its file, without any credentials or region", async () => {
    await announceLocalRun(run(), file());
    expect(await sortie(["stats", "--local"], { environment: environment() })).toMatchObject({
      code: 0,
      err: "",
    });
    const paused = await sortie(["pause", "--local", "--json"], { environment: environment() });
    expect(paused.json()).toMatchObject([{ fleet: "main" }, { fleet: "math" }]);
  });

  test("counts more than a table that the environment names", async () => {
    await announceLocalRun(run(), file());
    const ran = await sortie(["stats", "--local"], {
      environment: { ...environment(), SORTIE_TABLE: "other", ...local },
    });
    expect(ran).toMatchObject({ code: 0, err: "" });
  });

  test("that never was says how to start one", async () => {
    const nowhere = { SORTIE_LOCAL_RUN: join(folder, "nowhere.json") };
    const ran = await sortie(["stats", "--local"], { environment: nowhere });
    expect(ran).toMatchObject({ code: 1, out: "" });
    expect(ran.err).toBe(
      "sortie: expected a local system, found none running: start one with: npm start -- --serve\n",
    );
  });

  test("whose process is gone is not asked", async () => {
    await writeFile(file(), JSON.stringify(run({ pid: 2 ** 22 - 1 })));
    const ran = await sortie(["stats", "--local"], { environment: environment() });
    expect(ran.err).toBe(
      "sortie: the local system that was started at 2026-05-04T10:00:00.000Z is gone (process 4194303): start one with: " +
        "npm start -- --serve\n",
    );
  });

  test.each(["", "{", '{"v":2}'])("with the file %j says so", async (text) => {
    await writeFile(file(), text);
    await expect(readLocalRun(file())).rejects.toThrow("does not describe a local run of this release");
  });

  test("is announced over a dead one, and not over a living one", async () => {
    await writeFile(file(), JSON.stringify(run({ pid: 2 ** 22 - 1 })));
    await announceLocalRun(run(), file());
    expect(JSON.parse(await readFile(file(), "utf8"))).toEqual(run());
    // Our parent lives as long as we do.
    await writeFile(file(), JSON.stringify(run({ pid: process.ppid })));
    await expect(announceLocalRun(run(), file())).rejects.toThrow("a local system runs already");
  });

  test("is taken back only by whoever announced it", async () => {
    await announceLocalRun(run({ pid: process.pid }), join(folder, "mine.json"));
    await retractLocalRun({ pid: 1 }, join(folder, "mine.json"));
    expect(await readLocalRun(join(folder, "mine.json"))).toEqual(run());
    await retractLocalRun({ pid: process.pid }, join(folder, "mine.json"));
    await expect(readLocalRun(join(folder, "mine.json"))).rejects.toThrow("found none running");
  });
});

test("every command has --json, says where the deployment is, and shows examples", async () => {
  const commands = [
    ["push"],
    ["stats"],
    ["episodes"],
    ["rollout"],
    ["pause"],
    ["resume"],
    ["doctor"],
    ...["list", "show", "redrive", "purge"].map((name) => ["dead", name]),
    ...["status", "start", "stop", "restart"].map((name) => ["engine", name]),
  ];
  for (const command of commands) {
    const { code, out } = await sortie([...command, "--help"]);
    expect(code).toBe(0);
    for (const part of ["--json", "--stack", "--table", "--local", "--region", "--profile", "--endpoint-url"])
      expect(out).toContain(`${part} `);
    expect(out).toMatch(/Examples:\n {2}\$ sortie /);
    expect(out).toMatch(/Exit codes:\n {2}0 {4}done\n {2}1 .*\n {2}2 .*\n {2}130 /);
  }
});
