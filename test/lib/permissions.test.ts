import { buildSync } from "esbuild";
import { expect, test } from "vitest";
import { entries } from "../../functions/entries.ts";
import { plain, resource, synthesise } from "./synthesise.ts";

const template = synthesise();

interface Statement {
  readonly Action: string | string[];
  readonly Effect: string;
  readonly Resource: unknown;
  readonly Condition?: unknown;
}

/** Every statement of the one policy whose id starts so. */
function statements(id: string): Statement[] {
  const { PolicyDocument } = plain(resource(template, "AWS::IAM::Policy", id).Properties) as {
    PolicyDocument: { Statement: Statement[] };
  };
  return PolicyDocument.Statement;
}

const indexes = ["<StateTable.Arn>/index/by-change", "<StateTable.Arn>/index/open-by-expiry"];

test("the rollout function may do this and nothing else", () => {
  expect(statements("FleetmainRolloutRole")).toEqual([
    {
      Action: ["logs:CreateLogStream", "logs:PutLogEvents"],
      Effect: "Allow",
      Resource: "<FleetmainRolloutLogs.Arn>",
    },
    {
      Action: [
        "dynamodb:DeleteItem",
        "dynamodb:GetItem",
        "dynamodb:PutItem",
        "dynamodb:Query",
        "dynamodb:UpdateItem",
      ],
      Effect: "Allow",
      Resource: "<StateTable.Arn>",
    },
    { Action: "dynamodb:Query", Effect: "Allow", Resource: indexes },
    {
      Action: [
        "sqs:ChangeMessageVisibility",
        "sqs:DeleteMessage",
        "sqs:GetQueueAttributes",
        "sqs:ReceiveMessage",
      ],
      Effect: "Allow",
      Resource: "<FleetmainQueue.Arn>",
    },
    { Action: "sqs:SendMessage", Effect: "Allow", Resource: "<FleetmainDeadLetterQueue.Arn>" },
  ]);
});

test("the lifecycle function may do this and nothing else", () => {
  expect(statements("EnginemainLifecycleRole")).toEqual([
    {
      Action: ["logs:CreateLogStream", "logs:PutLogEvents"],
      Effect: "Allow",
      Resource: "<EnginemainLifecycleLogs.Arn>",
    },
    {
      Action: [
        "dynamodb:BatchGetItem",
        "dynamodb:DeleteItem",
        "dynamodb:GetItem",
        "dynamodb:PutItem",
        "dynamodb:Query",
        "dynamodb:UpdateItem",
      ],
      Effect: "Allow",
      Resource: "<StateTable.Arn>",
    },
    { Action: "dynamodb:Query", Effect: "Allow", Resource: indexes },
    {
      Action: ["sqs:ChangeMessageVisibility", "sqs:GetQueueAttributes"],
      Effect: "Allow",
      Resource: "<FleetmainQueue.Arn>",
    },
    {
      Action: ["sqs:GetQueueAttributes", "sqs:SendMessage"],
      Effect: "Allow",
      Resource: "<FleetmainDeadLetterQueue.Arn>",
    },
  ]);
});

test("the schedule may call its function and nothing else", () => {
  expect(statements("SchedulerRole")).toEqual([
    {
      Action: "lambda:InvokeFunction",
      Effect: "Allow",
      Resource: ["<EnginemainLifecycleFunction.Arn>", "<EnginemainLifecycleFunction.Arn>:*"],
    },
  ]);
});

test("there is no other policy, and no role takes one that AWS manages", () => {
  template.resourceCountIs("AWS::IAM::Policy", 3);
  template.resourceCountIs("AWS::IAM::Role", 3);
  const roles = Object.values(template.findResources("AWS::IAM::Role"));
  const beyond = ["ManagedPolicyArns", "Policies"];
  const found = roles.flatMap(({ Properties }) =>
    Object.keys(Properties).filter((key) => beyond.includes(key)),
  );
  expect(found).toEqual([]);
});

// No local server checks permissions: an action that is missing would show first in somebody's account.
test.each([
  ["rollout", entries.rollout, "FleetmainRolloutRole"],
  ["lifecycle", entries.lifecycle, "EnginemainLifecycleRole"],
])("the %s function may do all that its code does", (_, entry, role) => {
  const granted = new Set(statements(role).flatMap(({ Action }) => Action));
  const used = usedActions(entry);
  expect(used).toContain("dynamodb:PutItem");
  expect(used.filter((action) => !granted.has(action))).toEqual([]);
});

/** The actions of the SDK's commands and paginators that are left of an entry after tree shaking. */
function usedActions(entry: string): string[] {
  const { outputFiles } = buildSync({
    entryPoints: [entry],
    bundle: true,
    write: false,
    format: "esm",
    platform: "node",
    packages: "external",
  });
  const code = outputFiles.map(({ text }) => text).join("\n");
  const commands = code.matchAll(/new (\w+)Command\(|\bpaginate(\w+)\(/g);
  const names = [...commands].map(([, command, paginator]) => command ?? paginator ?? "");
  return [...new Set(names)].map((name) => `${serviceOf(name)}:${name}`);
}

function serviceOf(command: string): string {
  return /Message|Queue/.test(command) ? "sqs" : "dynamodb";
}
