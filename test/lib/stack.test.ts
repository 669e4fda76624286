import { Match } from "aws-cdk-lib/assertions";
import { expect, test } from "vitest";
import { engineUrl, plain, synthesise } from "./synthesise.ts";

// The first synthesis of a process loads much of the CDK.
test("a throw-away stack leaves nothing behind", { timeout: 60_000 }, () => {
  const stack = synthesise({ engineUrl, retain: false });
  const kept = Object.entries(stack.toJSON()["Resources"] as Record<string, { DeletionPolicy?: string }>);
  expect(kept.filter(([, { DeletionPolicy }]) => DeletionPolicy?.startsWith("Retain"))).toEqual([]);
  stack.hasResource("AWS::SQS::Queue", { DeletionPolicy: "Delete" });
  stack.hasResourceProperties("AWS::DynamoDB::GlobalTable", {
    Replicas: [Match.objectLike({ DeletionProtectionEnabled: false })],
  });
});

test("outputs keep their names, for the command line tool and for people", () => {
  const stack = synthesise({ engineUrl, fleets: { main: {}, "word-problems": {} } });
  const outputs = plain(stack.toJSON()["Outputs"]);
  expect(outputs).toEqual({
    TableName: { Value: "<StateTable>" },
    Fleets: {
      Value: JSON.stringify([
        {
          name: "main",
          engine: "main",
          queueUrl: "<FleetmainQueue>",
          deadLetterQueueUrl: "<FleetmainDeadLetterQueue>",
        },
        {
          name: "word-problems",
          engine: "main",
          queueUrl: "<FleetwordproblemsQueue>",
          deadLetterQueueUrl: "<FleetwordproblemsDeadLetterQueue>",
        },
      ]),
    },
    RolloutTtlDays: { Value: "30" },
    LifecycleFunctionMain: { Value: "<EnginemainLifecycleFunction>" },
    QueueUrlMain: { Value: "<FleetmainQueue>" },
    DeadLetterQueueUrlMain: { Value: "<FleetmainDeadLetterQueue>" },
    QueueUrlWordProblems: { Value: "<FleetwordproblemsQueue>" },
    DeadLetterQueueUrlWordProblems: { Value: "<FleetwordproblemsDeadLetterQueue>" },
  });
});
