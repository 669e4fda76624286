import { App } from "aws-cdk-lib";
import { Annotations, Match } from "aws-cdk-lib/assertions";
import { describe, expect, test } from "vitest";
import { decodeSettings } from "../../lib/settings.ts";
import { SortieStack } from "../../lib/stack.ts";
import { engineUrl, plain, resource, synthesise, withoutBundling } from "./synthesise.ts";

const template = synthesise();

describe("queues", () => {
  const queue = resource(template, "AWS::SQS::Queue", "FleetmainQueue");
  const deadLetters = resource(template, "AWS::SQS::Queue", "FleetmainDeadLetterQueue");

  test("what is received too often goes to the fleet's dead letters", () => {
    expect(plain(queue.Properties["RedrivePolicy"])).toEqual({
      deadLetterTargetArn: "<FleetmainDeadLetterQueue.Arn>",
      maxReceiveCount: 1000,
    });
    expect(deadLetters.Properties["RedrivePolicy"]).toBe(undefined);
  });

  test("a message is invisible for longer than the function may take", () => {
    const slow = synthesise({ engineUrl, timeoutSeconds: 300, visibilityMarginSeconds: 45 });
    expect(resource(slow, "AWS::SQS::Queue", "FleetmainQueue").Properties["VisibilityTimeout"]).toBe(345);
    expect(resource(slow, "AWS::Lambda::Function", "FleetmainRollout").Properties["Timeout"]).toBe(300);
  });

  test.each([
    ["queue", queue],
    ["dead letters", deadLetters],
  ])(
    "%s: encrypted, kept for two weeks, polled long, retained unless its first deployment fails",
    (_, { Properties, ...attributes }) => {
      expect(Properties).toMatchObject({
        SqsManagedSseEnabled: true,
        MessageRetentionPeriod: 1_209_600,
        ReceiveMessageWaitTimeSeconds: 20,
        MaximumMessageSize: 1_048_576,
      });
      expect(attributes).toMatchObject({
        DeletionPolicy: "RetainExceptOnCreate",
        UpdateReplacePolicy: "Retain",
      });
    },
  );

  test.each(["FleetmainQueue", "FleetmainDeadLetterQueue"])("%s refuses whoever comes without TLS", (id) => {
    const policy = resource(template, "AWS::SQS::QueuePolicy", `${id}Policy`).Properties;
    expect(plain(policy)).toEqual({
      Queues: [`<${id}>`],
      PolicyDocument: {
        Version: "2012-10-17",
        Statement: [
          {
            Action: "sqs:*",
            Condition: { Bool: { "aws:SecureTransport": "false" } },
            Effect: "Deny",
            Principal: { AWS: "*" },
            Resource: `<${id}.Arn>`,
          },
        ],
      },
    });
  });
});

describe("event source", () => {
  function eventSource(settings: Record<string, unknown>): unknown {
    const { Properties } = resource(
      synthesise({ engineUrl, ...settings }),
      "AWS::Lambda::EventSourceMapping",
    );
    return plain(Properties);
  }

  test("partial batch responses are on, and concurrency follows from the settings", () => {
    expect(eventSource({})).toEqual({
      BatchSize: 10,
      EventSourceArn: "<FleetmainQueue.Arn>",
      FunctionName: "<FleetmainRolloutFunction>",
      FunctionResponseTypes: ["ReportBatchItemFailures"],
      MaximumBatchingWindowInSeconds: 0,
      ScalingConfig: { MaximumConcurrency: 5 },
    });
  });

  test.each([
    { maxEpisodes: 100, episodesPerInvocation: 1, batch: 1, concurrency: 100 },
    { maxEpisodes: 25, episodesPerInvocation: 10, batch: 8, concurrency: 3 },
    { maxEpisodes: 10, episodesPerInvocation: 10, batch: 5, concurrency: 2 },
    { maxEpisodes: 2, episodesPerInvocation: 10, batch: 1, concurrency: 2 },
    { maxEpisodes: 10_000, episodesPerInvocation: 10, batch: 10, concurrency: 1000 },
  ])("$maxEpisodes episodes, $episodesPerInvocation per invocation: never more than that", (expected) => {
    const { batch, concurrency, ...settings } = expected;
    expect(eventSource(settings)).toMatchObject({
      BatchSize: batch,
      ScalingConfig: { MaximumConcurrency: concurrency },
    });
    expect(batch * concurrency).toBeLessThanOrEqual(settings.maxEpisodes);
  });

  function warnings(settings: Record<string, unknown>): string[] {
    const decoded = decodeSettings({ engineUrl, ...settings });
    const stack = new SortieStack(new App({ context: withoutBundling }), "Sortie", { settings: decoded });
    return Annotations.fromStack(stack)
      .findWarning("*", Match.anyValue())
      .map(({ entry }) => String(entry.data));
  }

  test("fewer episodes than two invocations take are said, with what to set", () => {
    expect(warnings({ fleets: { small: { maxEpisodes: 4 }, fine: { maxEpisodes: 20 } } })).toEqual([
      "fleet small: maxEpisodes: 4 is less than two invocations of 10 (episodesPerInvocation), and an event source starts " +
        "at least two: each takes 2 at most. Set episodesPerInvocation to 2, or maxEpisodes to 20 or more [ack: sortie:settings]",
    ]);
    expect(warnings({ maxEpisodes: 25 })).toEqual([]);
    expect(warnings({ maxEpisodes: 2, episodesPerInvocation: 1 })).toEqual([]);
  });

  test("a large batch has its window", () => {
    expect(eventSource({ maxEpisodes: 200, episodesPerInvocation: 50, batchWindowSeconds: 5 })).toMatchObject(
      { BatchSize: 50, MaximumBatchingWindowInSeconds: 5 },
    );
  });
});
