import { randomUUID } from "node:crypto";
import { appendFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CreateTableCommand } from "@aws-sdk/client-dynamodb";
import { PurgeQueueCommand, SetQueueAttributesCommand } from "@aws-sdk/client-sqs";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { Finding } from "../../cli/doctor/finding.ts";
import { announceLocalRun, retractLocalRun } from "../../cli/local-run.ts";
import { createGateStore } from "../../functions/adapters/table/gate.ts";
import { createLifecycleStore } from "../../functions/adapters/table/lifecycle.ts";
import { createRolloutStore } from "../../functions/adapters/table/rollouts.ts";
import type { Snapshot } from "../../functions/core/housekeeping/snapshot.ts";
import { poolInformationSchema } from "../../functions/core/protocol.ts";
import { arn } from "../../local/region.ts";
import { anItem } from "../functions/core/items.ts";
import { sendJson, serve } from "../support/http-server.ts";
import { type Deployed, startDeployment } from "./deployment.ts";
import { type Circumstances, sortie } from "./here.ts";
import { fleetOf, snapshotOf } from "./samples.ts";

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
      log: logFile,
    },
    runFile,
  );
});
afterAll(async () => {
  await retractLocalRun({ pid: process.pid }, runFile);
  await rm(logFile, { force: true });
  await deployed[Symbol.asyncDispose]();
});
const runFile = join(tmpdir(), `sortie-doctor-${process.pid}.json`);
const logFile = `${runFile}.log`;

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

test("a new deployment has no snapshot yet, which is no fault", async () => {
  const ran = await doctor();
  expect(ran).toMatchObject({ code: 0, err: "" });
  expect(ran.out).toMatch(
    /^\? lifecycle of main +no snapshot yet: the table is \d+ s old, and .+ minutes of a deployment: wait$/m,
  );

  // An hour later it is one.
  expect(await finding("lifecycle of main", { now: () => Date.now() + 3_600_000 })).toMatchObject({
    verdict: "failed",
    text: expect.stringMatching(
      /^expected a snapshot, found none: look at the log of the lifecycle function/,
    ),
  });
});

test("a sound deployment passes every check", async () => {
  await snapshot();
  const ran = await doctor();
  expect(ran).toMatchObject({ code: 0, err: "" });
  const lines = ran.out.trimEnd().split("\n");
  expect(lines.map((line) => line.slice(0, 1))).toEqual(["✓", "✓", "?", ..."✓✓✓✓✓✓✓✓✓✓✓✓"]);
  expect(lines[1]).toMatch(/^✓ table +Sortie-State with its two indexes/);
  expect(lines[4]).toMatch(
    /^✓ queue main +0 messages wait, visibility 960 s, dead letters after 1000 receives$/,
  );
  expect(lines[11]).toMatch(/^✓ engine main +the functions reach it: ENGINE\.ROLLING$/);
});

describe("each fault says what to do, and makes the exit code 1:", () => {
  test("an old snapshot", async () => {
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

  test("weight syncs that wait for an agreement which nobody gives", async () => {
    const pool = { sample_collection_method: "rollout_until_any_client_agree_sync_weight" };
    await snapshot({ pool: poolInformationSchema.parse(pool) });
    expect(await finding("weight syncs of main")).toMatchObject({
      verdict: "failed",
      text: expect.stringContaining("set engines.main.agreeAfter and deploy"),
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
      text: expect.stringMatching(/^expected maxReceiveCount of at least 436, .* 14 days, found 3: raise it/),
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

describe("a fleet that does nothing, or nothing good:", () => {
  const gates = () => createGateStore(deployed.table);
  afterEach(async () => {
    await gates().reset("main");
    await gates().setPaused("main", undefined);
  });

  async function died(reason: "agent-error" | "crashed", detail: string): Promise<void> {
    const at = Date.now();
    const task_id = randomUUID();
    const key = `run/doctor/train/0/${task_id}`;
    const history = [{ id: "a.1", episode: "e1", reason, detail, at, from: at - 1, step: 1 }];
    const item = anItem({ key, task_id, state: "dead", attempts: 3, history, changed_at: at, stamp: key });
    const store = createRolloutStore({ ...deployed.table, ttlDays: 1 });
    expect(await store.move(undefined, item)).toMatchObject({ moved: true });
  }

  test("paused by somebody, which is no failure", async () => {
    await snapshot();
    await gates().setPaused("main", { at: Date.now() - 120_000, why: "the judge is being replaced" });
    expect(await finding("pause main")).toEqual({
      check: "pause main",
      verdict: "warning",
      text: expect.stringMatching(
        /^paused for 2 min.*: the judge is being replaced; it claims nothing until sortie resume --fleet main$/,
      ),
    });
    const ran = await doctor();
    expect(ran.out).toMatch(/^! pause main /m);
    expect(ran.code).toBe(0);
  });

  test("paused by its budget", async () => {
    await gates().setBudgetPause("main", { at: Date.now(), why: "spent $9 of $5", by: "budget" });
    expect(await finding("pause main")).toMatchObject({
      verdict: "warning",
      text: expect.stringMatching(/by its budget \(spent \$9 of \$5\): .*budget\.usdPerDay/),
    });
  });

  test("an open circuit, and rollouts that die, with the last error and what to do", async () => {
    await died("agent-error", "TypeError: judge is not a function");
    for (let count = 0; count < 12; count += 1) await gates().fail("main", "agent-error");
    await gates().trip("main", Date.now() - 60_000, Date.now());
    expect(await finding("circuit main")).toMatchObject({
      verdict: "failed",
      text: expect.stringMatching(
        /^open for 1 min.*: 12 attempts .* by agent-error \(TypeError: judge is not a function\): mend the agent/,
      ),
    });
    expect(await finding("rollouts main")).toMatchObject({
      verdict: "failed",
      text: expect.stringMatching(
        /^1 rollout died in the last hour, 0 ended; the last of agent-error: TypeError: judge is not a function; mend the agent.*sortie dead redrive$/,
      ),
    });
    expect((await doctor()).code).toBe(1);
  });

  test("dead letters are told, also those that SQS itself has made", async () => {
    await deployed.send(deployed.main.deadLetterQueueUrl, '{"task_id":"x"}');
    expect(await finding("dead letters main")).toMatchObject({
      verdict: "warning",
      text: expect.stringMatching(/^1, kept for 14 days: sortie dead list says why/),
    });
    await deployed.sqs.send(new PurgeQueueCommand({ QueueUrl: deployed.main.deadLetterQueueUrl }));
  });

  /** Later than the snapshots of other tests. */
  const later = { now: () => Date.now() + 7_200_000 };
  /** Snapshots of the last ten minutes, of a queue with messages in flight. */
  async function watched(fleetAt: (minute: number) => Parameters<typeof fleetOf>[1]): Promise<void> {
    const end = later.now();
    for (let minute = 10; minute >= 0; minute -= 1) {
      const at = new Date(end - minute * 60_000).toISOString();
      const queue = { visible: 0, in_flight: 5, delayed: 0 };
      await snapshot({ at, fleets: { main: snapshotFleet({ queue, open: 0, ...fleetAt(minute) }) } });
    }
  }
  const snapshotFleet = (facts: Parameters<typeof fleetOf>[1]) =>
    snapshotOf({ fleets: { main: fleetOf({}, facts) } }).fleets["main"] ?? fail();
  const fail = (): never => {
    throw new Error("expected a fleet in the sample");
  };
  const spent = (usd: number) => ({
    usd_today: usd,
    usd_total: usd,
    usd_per_ended: null,
    budget_usd_per_day: null,
    budget_exceeded: false,
  });

  test("a function that receives messages and gets nowhere, with the log's last error", async () => {
    await appendFile(
      logFile,
      '{"level":"INFO","message":"fine"}\n{"level":"ERROR","message":"Error: Cannot find package judge"}\n',
    );
    await watched(() => ({ spend: spent(1) }));
    expect(await finding("function main", later)).toMatchObject({
      verdict: "failed",
      text: expect.stringMatching(
        /^messages wait before an engine that rolls, and for 10 min no invocation .*last error: Error: Cannot find package judge$/,
      ),
    });
  });

  test("a function whose invocations are on the bill, though the engine has no slot", async () => {
    await watched((minute) => ({ spend: spent(2 - minute / 100) }));
    expect(await finding("function main", later)).toMatchObject({ verdict: "ok" });
  });

  test("a function that has nothing to do, since the fleet is paused", async () => {
    await watched(() => ({ spend: spent(3), paused: "so" }));
    expect(await finding("function main", later)).toMatchObject({ verdict: "ok" });
  });
});

test("a lifecycle function that is busy is no failure of --invoke", async () => {
  await using lambda = await serve((_, response) => {
    response.setHeader("x-amzn-errortype", "TooManyRequestsException");
    sendJson(response, 429, {
      message: "Rate Exceeded.",
      Reason: "ReservedFunctionConcurrentInvocationLimitExceeded",
    });
  });
  await snapshot();
  const environment = { ...deployed.environment, AWS_ENDPOINT_URL_LAMBDA: lambda.url };
  const ran = await sortie(["doctor", "--invoke", "lifecycle", "--json"], { environment });
  expect(ran.json()).toContainEqual({
    check: "invoke",
    verdict: "unknown",
    text: "lifecycle is running: its schedule has just called it",
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
