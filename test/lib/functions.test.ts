import type { Template } from "aws-cdk-lib/assertions";
import { describe, expect, test } from "vitest";
import { engineUrl, plain, resource, synthesise } from "./synthesise.ts";

const template = synthesise();

describe("functions", () => {
  test("the rollout function's environment", () => {
    const stack = synthesise({
      engineUrl,
      stragglerGraceSeconds: 60,
      spare: 0,
      throttle: { batchSize: 8, repeats: 4 },
      allowUnusualRewards: true,
    });
    expect(environment(stack, "FleetmainRollout")).toEqual({
      NODE_OPTIONS: "--enable-source-maps",
      POWERTOOLS_SERVICE_NAME: "Sortie",
      SORTIE_FLEET: "main",
      SORTIE_ENGINE: "main",
      SORTIE_ENGINE_URL: engineUrl,
      SORTIE_TABLE: "<StateTable>",
      SORTIE_QUEUE_URL: "<FleetmainQueue>",
      SORTIE_DEAD_LETTER_QUEUE_URL: "<FleetmainDeadLetterQueue>",
      SORTIE_MAX_ATTEMPTS: "3",
      SORTIE_MAX_DISCARDS: "10",
      SORTIE_DISCARD_TIMEOUT_SECONDS: "240",
      SORTIE_CLAIM_WAIT_SECONDS: "120",
      SORTIE_MIN_EPISODE_SECONDS: "30",
      SORTIE_SETTLE_MARGIN_SECONDS: "20",
      SORTIE_ALLOW_UNUSUAL_REWARDS: "true",
      SORTIE_ROLLOUT_TTL_DAYS: "30",
      SORTIE_MAX_RECEIVE_COUNT: "1000",
      SORTIE_MESSAGE_RETENTION_DAYS: "14",
      SORTIE_SPARE: "0",
      SORTIE_PLACES: "10",
      SORTIE_STRAGGLER_GRACE_SECONDS: "60",
      SORTIE_THROTTLE: '{"ratio":1.5,"batchSize":8,"repeats":4}',
    });
  });

  test("what is off has no variable", () => {
    const variables = Object.keys(environment(template, "FleetmainRollout"));
    expect(variables.filter((name) => /GRACE|THROTTLE|SPARE/.test(name))).toEqual([]);
  });

  test("the lifecycle function of each engine knows the fleets on it", () => {
    const stack = synthesise({
      engines: { a: { url: "http://a:1" }, b: { url: "http://b:1" } },
      fleets: {
        x: { engine: "a", maxAttempts: 5 },
        y: { engine: "a", budget: { usdPerDay: 2.5 } },
        z: { engine: "b" },
      },
    });
    expect(environment(stack, "EngineaLifecycle")).toEqual({
      NODE_OPTIONS: "--enable-source-maps",
      POWERTOOLS_SERVICE_NAME: "Sortie",
      SORTIE_ENGINE: "a",
      SORTIE_ENGINE_URL: "http://a:1",
      SORTIE_TABLE: "<StateTable>",
      SORTIE_FLEETS: JSON.stringify([
        {
          name: "x",
          queueUrl: "<FleetxQueue>",
          deadLetterQueueUrl: "<FleetxDeadLetterQueue>",
          maxAttempts: 5,
        },
        {
          name: "y",
          queueUrl: "<FleetyQueue>",
          deadLetterQueueUrl: "<FleetyDeadLetterQueue>",
          maxAttempts: 3,
          budgetUsdPerDay: 2.5,
        },
      ]),
      SORTIE_START_ATTEMPTS: "3",
      SORTIE_START_PAUSE_SECONDS: "60",
      SORTIE_BOOT_MINUTES: "30",
      SORTIE_STALLED_MINUTES: "30",
      SORTIE_RESTART_WHEN_STALLED: "false",
      SORTIE_SCHEDULE_MINUTES: "1",
      SORTIE_SNAPSHOT_TTL_DAYS: "30",
      SORTIE_ROLLOUT_TTL_DAYS: "30",
    });
    expect(environment(stack, "FleetzRollout")).toMatchObject({
      SORTIE_ENGINE: "b",
      SORTIE_ENGINE_URL: "http://b:1",
    });
  });

  test("the longest environment that the settings allow fits into Lambda's 4 KB", () => {
    const names = Array.from({ length: 8 }, (_, index) => `${"f".repeat(31)}${index}`);
    const fleet = { maxAttempts: 100, budget: { usdPerDay: 1234.56 } };
    const engines = {
      main: {
        url: `https://${"engine.".repeat(10)}example.com/prefix`,
        tokenSecretArn: `arn:aws:secretsmanager:ap-northeast-1:111122223333:secret:${"s".repeat(60)}-AbCdEf`,
      },
    };
    const stack = synthesise({ engines, fleets: Object.fromEntries(names.map((name) => [name, fleet])) });
    const variables = JSON.stringify(environment(stack, "EnginemainLifecycle"));
    // SQS's longest name is 80 characters.
    const queueUrl = `https://sqs.ap-northeast-1.amazonaws.com/111122223333/${"q".repeat(80)}`;
    expect(Buffer.byteLength(variables.replaceAll(/<Fleet[^>]+>/g, queueUrl))).toBeLessThanOrEqual(4096);
  });

  test("Node.js 24 on arm64, JSON logs in a group of their own with a retention", () => {
    const stack = synthesise({ engineUrl, logRetentionDays: 7 });
    for (const id of ["FleetmainRollout", "EnginemainLifecycle"]) {
      expect(plain(resource(stack, "AWS::Lambda::Function", id).Properties)).toMatchObject({
        Runtime: "nodejs24.x",
        Architectures: ["arm64"],
        Handler: "index.handler",
        LoggingConfig: { LogFormat: "JSON", LogGroup: `<${id}Logs>` },
      });
      expect(resource(stack, "AWS::Logs::LogGroup", id).Properties).toMatchObject({ RetentionInDays: 7 });
    }
  });

  test("only the lifecycle function reserves concurrency: one tick at a time", () => {
    const reserved = (id: string) =>
      resource(template, "AWS::Lambda::Function", id).Properties["ReservedConcurrentExecutions"];
    expect(reserved("EnginemainLifecycle")).toBe(1);
    expect(reserved("FleetmainRollout")).toBe(undefined);
  });

  test("a fleet reserves concurrency where the settings say so", () => {
    const stack = synthesise({ engineUrl, reservedConcurrency: 5 });
    expect(resource(stack, "AWS::Lambda::Function", "FleetmainRollout").Properties).toMatchObject({
      ReservedConcurrentExecutions: 5,
    });
  });

  test("traces are off, and on where the settings say so", () => {
    const tracing = (stack: Template) =>
      ["FleetmainRollout", "EnginemainLifecycle"].map(
        (id) => resource(stack, "AWS::Lambda::Function", id).Properties["TracingConfig"],
      );
    expect(tracing(template)).toEqual([undefined, undefined]);
    expect(tracing(synthesise({ engineUrl, tracing: true }))).toEqual([
      { Mode: "Active" },
      { Mode: "Active" },
    ]);
  });

  test("nothing of it can be called from outside: no address, no permission for anybody", () => {
    template.resourceCountIs("AWS::Lambda::Url", 0);
    template.resourceCountIs("AWS::Lambda::Permission", 0);
  });
});

describe("schedule", () => {
  test("ticks each minute and tries nothing again", () => {
    const { Properties } = resource(template, "AWS::Scheduler::Schedule");
    expect(plain(Properties)).toMatchObject({
      ScheduleExpression: "rate(1 minute)",
      FlexibleTimeWindow: { Mode: "OFF" },
      State: "ENABLED",
      Target: {
        Arn: "<EnginemainLifecycleFunction.Arn>",
        RetryPolicy: { MaximumRetryAttempts: 0, MaximumEventAgeInSeconds: 60 },
      },
    });
  });

  test("Lambda tries a failed tick not again either", () => {
    expect(plain(resource(template, "AWS::Lambda::EventInvokeConfig").Properties)).toEqual({
      FunctionName: "<EnginemainLifecycleFunction>",
      MaximumEventAgeInSeconds: 60,
      MaximumRetryAttempts: 0,
      Qualifier: "$LATEST",
    });
  });

  test("every five minutes, where the settings say so", () => {
    const { Properties } = resource(
      synthesise({ engineUrl, scheduleMinutes: 5 }),
      "AWS::Scheduler::Schedule",
    );
    expect(Properties["ScheduleExpression"]).toBe("rate(5 minutes)");
  });
});

function environment(stack: Template, id: string): Record<string, unknown> {
  const { Environment } = plain(resource(stack, "AWS::Lambda::Function", id).Properties) as {
    Environment: { Variables: Record<string, unknown> };
  };
  return Environment.Variables;
}
