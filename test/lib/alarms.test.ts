import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Template } from "aws-cdk-lib/assertions";
import { expect, test } from "vitest";
import { engineUrl, plain, synthesise } from "./synthesise.ts";

interface AlarmProperties {
  readonly AlarmName: string;
  readonly AlarmDescription: string;
  readonly [property: string]: unknown;
}

const topics = {
  fleet: [
    "dead-letters",
    "oldest-message",
    "deferred-message",
    "no-ended-episode",
    "unknown-outcomes",
    "overdue-episodes",
    "budget-exceeded",
    "circuit-open",
    "function-errors",
    "function-timeout",
    "function-throttled",
  ],
  engine: [
    "engine-unreachable",
    "engine-start-failed",
    "engine-crashed",
    "engine-stalled",
    "lifecycle-silent",
    "function-errors",
    "function-timeout",
  ],
};
const template = synthesise({ engineUrl, fleets: { math: {}, hard: {} } });

function alarms(stack: Template): AlarmProperties[] {
  return Object.values(stack.findResources("AWS::CloudWatch::Alarm")).map(
    ({ Properties }) => plain(Properties) as AlarmProperties,
  );
}

/** The one alarm about a topic of a fleet or an engine. */
function alarm(stack: Template, topic: string, subject = "fleet main"): AlarmProperties {
  const found = alarms(stack).filter(({ AlarmName }) => AlarmName === `Sortie: ${topic}, ${subject}`);
  const [only] = found;
  if (only === undefined || found.length > 1)
    throw new Error(`expected one alarm ${topic}, found ${found.length}`);
  return only;
}

test("each fleet and each engine has its alarms", () => {
  const names = [
    ...["math", "hard"].flatMap((fleet) => topics.fleet.map((topic) => `Sortie: ${topic}, fleet ${fleet}`)),
    ...topics.engine.map((topic) => `Sortie: ${topic}, engine main`),
  ];
  expect(alarms(template).map(({ AlarmName }) => AlarmName)).toEqual(expect.arrayContaining(names));
  expect(alarms(template)).toHaveLength(names.length);
});

test("each alarm's description links its paragraph in the runbook, and the runbook has no other", () => {
  const runbook = readFileSync(join(import.meta.dirname, "../../docs/runbook.md"), "utf8");
  const paragraphs = [...runbook.matchAll(/^## (.+)$/gm)].map(([, heading = ""]) =>
    heading.toLowerCase().replaceAll(" ", "-"),
  );
  const linked = alarms(template).map(
    ({ AlarmDescription }) => / What to do: docs\/runbook\.md#([a-z-]+)$/.exec(AlarmDescription)?.[1],
  );
  expect(new Set(linked)).toEqual(new Set(paragraphs));
});

test("a message that waits is an alarm after the time that the settings say", () => {
  const stack = synthesise({ engineUrl, oldestMessageMinutes: 20 });
  expect(alarm(stack, "oldest-message")).toMatchObject({ Threshold: 1200, EvaluationPeriods: 2 });
  expect(alarm(stack, "deferred-message")).toMatchObject({ Threshold: 1200, EvaluationPeriods: 1 });
});

test("no ended episode: for as long as the settings say", () => {
  const stack = synthesise({ engineUrl, noEndedEpisodeMinutes: 45 });
  expect(alarm(stack, "no-ended-episode")).toMatchObject({ Threshold: 1, EvaluationPeriods: 9 });
});

test("a function is cut off at its own time", () => {
  const stack = synthesise({ engineUrl, timeoutSeconds: 300 });
  expect(alarm(stack, "function-timeout")).toMatchObject({ Threshold: 299_000 });
  expect(alarm(stack, "function-timeout", "engine main")).toMatchObject({ Threshold: 899_000 });
});

test("silence of the lifecycle function is an alarm, though no data comes", () => {
  const stack = synthesise({ engineUrl, scheduleMinutes: 2 });
  expect(alarm(stack, "lifecycle-silent", "engine main")).toMatchObject({
    MetricName: "EngineRolling",
    Statistic: "SampleCount",
    Period: 600,
    ComparisonOperator: "LessThanThreshold",
    Threshold: 1,
    TreatMissingData: "breaching",
  });
  expect(alarm(stack, "engine-unreachable", "engine main")).toMatchObject({
    MetricName: "EngineUnreachable",
    Statistic: "Minimum",
    Period: 120,
    EvaluationPeriods: 5,
  });
});

test("alarms tell nobody, a topic that there is, or an address", () => {
  const actions = (stack: Template) =>
    new Set(alarms(stack).map((found) => JSON.stringify([found["AlarmActions"], found["OKActions"]])));
  expect(actions(template)).toEqual(new Set(["[null,null]"]));
  template.resourceCountIs("AWS::SNS::Topic", 0);

  const arn = "arn:aws:sns:eu-west-1:111122223333:alarms";
  expect(actions(synthesise({ engineUrl, alarmTopicArn: arn }))).toEqual(
    new Set([JSON.stringify([[arn], [arn]])]),
  );

  const mailed = synthesise({ engineUrl, alarmEmail: "team@example.com" });
  expect(actions(mailed)).toEqual(new Set(['[["<AlarmTopic>"],["<AlarmTopic>"]]']));
  mailed.hasResourceProperties("AWS::SNS::Subscription", { Protocol: "email", Endpoint: "team@example.com" });
});
