import { CreateTableCommand } from "@aws-sdk/client-dynamodb";
import { SetQueueAttributesCommand } from "@aws-sdk/client-sqs";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { Finding } from "../../cli/doctor/finding.ts";
import { announceLocalRun, retractLocalRun } from "../../cli/local-run.ts";
import { createLifecycleStore } from "../../functions/adapters/table/lifecycle.ts";
import type { Snapshot } from "../../functions/core/lifecycle/snapshot.ts";
import { arn } from "../../local/region.ts";
import { type Deployed, startDeployment } from "./deployment.ts";
import { type Circumstances, sortie } from "./here.ts";
import { snapshotOf } from "./samples.ts";

let deployed: Deployed;
beforeAll(async () => {
  deployed = await startDeployment();
  // As a local run, since the table server knows no expiry.
  await announceLocalRun(
    {
      v: 1,
      pid: process.pid,
      started_at: "2026-05-04T10:00:00.000Z",
      region: "us-east-1",
      endpoints: deployed.endpoints,
      engine_url: "http://127.0.0.1:1",
      table: deployed.table.table,
      fleets: [...deployed.fleets],
      log: "functions.log",
    },
    runFile,
  );
});
afterAll(async () => {
  await retractLocalRun({ pid: process.pid }, runFile);
  await deployed[Symbol.asyncDispose]();
});
const runFile = `/tmp/sortie-doctor-${process.pid}.json`;

afterEach(async () => await redrive(1000));

async function snapshot(facts: Partial<Snapshot> = {}): Promise<void> {
  const store = createLifecycleStore({ ...deployed.table, snapshotTtlDays: 1 });
  await store.writeSnapshot(snapshotOf({ at: new Date().toISOString(), ...facts }));
}

async function redrive(maxReceiveCount: number, target = arn("sqs", "main-dead")): Promise<void> {
  const policy = { deadLetterTargetArn: target, maxReceiveCount };
  const Attributes = { RedrivePolicy: JSON.stringify(policy) };
  await deployed.sqs.send(new SetQueueAttributesCommand({ QueueUrl: deployed.main.queueUrl, Attributes }));
}

const doctor = async (given: Circumstances = {}, ...args: string[]) =>
  await sortie(["doctor", "--local", ...args], { environment: { SORTIE_LOCAL_RUN: runFile }, ...given });

async function finding(check: string, given: Circumstances = {}): Promise<Finding | undefined> {
  const findings = (await doctor(given, "--json")).json() as Finding[];
  return findings.find((one) => one.check === check);
}

test("a sound deployment passes every check", async () => {
  await snapshot();
  const ran = await doctor();
  expect(ran).toMatchObject({ code: 0, err: "" });
  const lines = ran.out.trimEnd().split("\n");
  expect(lines.map((line) => line.slice(0, 1))).toEqual(["✓", "✓", "?", ..."✓✓✓✓✓✓✓"]);
  expect(lines[1]).toMatch(/^✓ table +Sortie-State with its two indexes/);
  expect(lines[4]).toMatch(
    /^✓ queue main +0 messages wait, visibility 960 s, dead letters after 1000 receives$/,
  );
  expect(lines[7]).toMatch(/^✓ engine main +the functions reach it: ENGINE\.ROLLING$/);
});

describe("each fault says what to do, and makes the exit code 1:", () => {
  test("no snapshot, or an old one", async () => {
    const old = { now: () => Date.now() + 600_000 };
    await snapshot();
    expect(await finding("lifecycle of main", old)).toMatchObject({
      verdict: "failed",
      text: expect.stringMatching(
        /^expected a snapshot of the last minutes, found one of 10 min ago: look at the log/,
      ),
    });
    const ran = await doctor(old);
    expect(ran.code).toBe(1);
    // The clock of this test is ahead too.
    expect(ran.err).toBe("sortie: 2 checks did not pass\n");
  });

  test("a clock that is wrong", async () => {
    await snapshot();
    expect(await finding("clock", { now: () => Date.now() - 3_600_000 })).toMatchObject({
      verdict: "failed",
      text: expect.stringMatching(/^this machine's is (59 min 59 s|1 h) behind AWS's: set it/),
    });
    expect(await finding("clock", { now: () => Date.now() + 25_000 })).toMatchObject({ verdict: "ok" });
  });

  test("an engine that the functions cannot reach", async () => {
    await snapshot({
      status: {
        engine_status: "ENGINE.CANNOT_CONNECT",
        engine_status_detail: "ECONNREFUSED",
        global_step: null,
      },
      pool: null,
    });
    expect(await finding("engine main")).toMatchObject({
      verdict: "failed",
      text: expect.stringMatching(
        /^the functions cannot reach it \(ECONNREFUSED\): is it running, is its address/,
      ),
    });
  });

  test("a pool that cannot be read, and rewards that never showed", async () => {
    await snapshot({ pool: null, never_confirmed: 2 });
    expect(await finding("engine main")).toMatchObject({
      verdict: "failed",
      text: expect.stringContaining("pool cannot be read"),
    });
    expect(await finding("rewards of main")).toMatchObject({
      verdict: "failed",
      text: expect.stringContaining("2 train rewards"),
    });
  });

  test("what the lifecycle function finds wrong", async () => {
    await snapshot({
      alarms: [{ code: "stalled", since: 1777888860000, text: "nothing has moved" }],
      overdue: 3,
    });
    expect(await finding("alarms of main")).toEqual({
      check: "alarms of main",
      verdict: "failed",
      text: "stalled: nothing has moved; 3 episodes of dead functions could not be settled yet",
    });
  });

  test("a redrive policy that makes dead letters of waiting messages", async () => {
    await redrive(3);
    expect(await finding("queue main")).toMatchObject({
      verdict: "failed",
      text: expect.stringMatching(/^expected maxReceiveCount of at least 100, .* found 3: raise it/),
    });
  });

  test("a redrive policy that leads elsewhere", async () => {
    await redrive(1000, arn("sqs", "main"));
    expect(await finding("queue main")).toMatchObject({
      verdict: "failed",
      text: expect.stringContaining("expected dead letters to go to"),
    });
  });

  test("a table that is not Sortie's", async () => {
    const keys = {
      KeySchema: [{ AttributeName: "id", KeyType: "HASH" as const }],
      AttributeDefinitions: [{ AttributeName: "id", AttributeType: "S" as const }],
    };
    await deployed.dynamodb.send(
      new CreateTableCommand({ TableName: "foreign", BillingMode: "PAY_PER_REQUEST", ...keys }),
    );
    const ran = await sortie(["doctor", "--table", "foreign", "--json"], {
      environment: deployed.environment,
    });
    expect(ran.code).toBe(1);
    expect(ran.json()).toContainEqual({
      check: "table",
      verdict: "failed",
      text: "expected the keys pk, sk, found id: is it Sortie's? check --table",
    });
  });

  test("a table that is not there, at every check that needs it", async () => {
    const ran = await sortie(["doctor", "--table", "nowhere", "--json"], {
      environment: deployed.environment,
    });
    const failures = (ran.json() as Finding[]).filter(({ verdict }) => verdict === "failed");
    expect(failures.map(({ check }) => check)).toEqual(
      expect.arrayContaining(["table", "table: expiry", "clock", "lifecycle of main"]),
    );
    expect(failures[0]?.text).toMatch(/^expected the table nowhere, found none of that name/);
  });
});

test("every check is carried out although others fail", async () => {
  const environment = { ...deployed.environment, AWS_ENDPOINT_URL_SQS: "http://127.0.0.1:1" };
  await snapshot();
  const ran = await sortie(["doctor", "--json"], { environment });
  const findings = ran.json() as Finding[];
  expect(findings.find(({ check }) => check === "queue main")).toMatchObject({
    verdict: "failed",
    text: expect.stringMatching(/^SQS cannot be reached \(ECONNREFUSED\): check the network/),
  });
  expect(findings.find(({ check }) => check === "engine main")).toMatchObject({ verdict: "ok" });
});
