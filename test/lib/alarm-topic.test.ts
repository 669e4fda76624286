import { describe, expect, test } from "vitest";
import { isAllowed, type PolicyRequest, type PolicyStatement } from "../support/iam-policy.ts";
import { engineUrl, plain, resource, synthesise } from "./synthesise.ts";

const ACCOUNT = "111122223333";
const known: Readonly<Record<string, string>> = {
  "<AWS::AccountId>": ACCOUNT,
  "<AWS::Partition>": "aws",
  "<AWS::Region>": "eu-west-1",
};

function withKnown(value: unknown): unknown {
  const text = JSON.stringify(plain(value));
  return JSON.parse(text.replace(/<AWS::\w+>/g, (name) => known[name] ?? name));
}

/** With the policy that the deployment gives it; SNS's own default is gone then. */
describe("the topic for alarms by mail", () => {
  const template = synthesise({ engineUrl, alarmEmail: "team@example.com" });
  const { PolicyDocument, Topics } = withKnown(resource(template, "AWS::SNS::TopicPolicy").Properties) as {
    PolicyDocument: { Statement: PolicyStatement[] };
    Topics: string[];
  };
  const alarm: PolicyRequest = {
    service: "cloudwatch.amazonaws.com",
    action: "sns:Publish",
    resource: "<AlarmTopic>",
    context: {
      "aws:SourceAccount": ACCOUNT,
      "aws:SourceArn": `arn:aws:cloudwatch:eu-west-1:${ACCOUNT}:alarm:Sortie: dead-letters, fleet main`,
      "aws:SecureTransport": "true",
    },
  };
  const may = (request: Partial<PolicyRequest>, context: Record<string, string> = {}) =>
    isAllowed(PolicyDocument.Statement, { ...alarm, ...request, context: { ...alarm.context, ...context } });

  test("is the one that the policy is for", () => {
    expect(Topics).toEqual([alarm.resource]);
  });

  test("lets the alarms of its account publish", () => {
    expect(may({})).toBe(true);
  });

  test.each<[string, Partial<PolicyRequest>, Record<string, string>]>([
    [
      "an alarm of another account",
      {},
      {
        "aws:SourceAccount": "999999999999",
        "aws:SourceArn": "arn:aws:cloudwatch:eu-west-1:999999999999:alarm:Sortie: dead-letters, fleet main",
      },
    ],
    ["a request that says nothing of its account", {}, { "aws:SourceAccount": "" }],
    [
      "something of CloudWatch that is no alarm",
      {},
      { "aws:SourceArn": `arn:aws:logs:eu-west-1:${ACCOUNT}:x` },
    ],
    ["an alarm without TLS", {}, { "aws:SecureTransport": "false" }],
    ["another service", { service: "s3.amazonaws.com" }, {}],
    ["an alarm that would change the topic", { action: "sns:SetTopicAttributes" }, {}],
  ])("does not let %s", (_, request, context) => {
    expect(may(request, context)).toBe(false);
  });
});
