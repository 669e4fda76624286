import { buildSync } from "esbuild";
import { expect, test } from "vitest";
import { entries } from "../../functions/entries.ts";
import { readLifecycleEnvironment } from "../../functions/environment.ts";
import { engineUrl, plain, resource, synthesise } from "./synthesise.ts";

const template = synthesise();

interface Statement {
  readonly Action: string | string[];
  readonly Effect: string;
  readonly Resource: unknown;
  readonly Condition?: unknown;
}

/** Every statement of the one policy whose id starts so. */
function statements(id: string, stack = template): Statement[] {
  const { PolicyDocument } = plain(resource(stack, "AWS::IAM::Policy", id).Properties) as {
    PolicyDocument: { Statement: Statement[] };
  };
  return PolicyDocument.Statement;
}

const table = "<StateTable.Arn>";
const rolloutsOfMain = {
  Action: ["dynamodb:GetItem", "dynamodb:PutItem"],
  Condition: leadingList("ROLLOUT#main#*"),
  Effect: "Allow",
  Resource: table,
};

function leadingList(...partitions: string[]) {
  return { "ForAllValues:StringLike": { "dynamodb:LeadingKeys": partitions } };
}

test("the rollout function may do this and nothing else", () => {
  expect(statements("FleetmainRolloutRole")).toEqual([
    {
      Action: ["logs:CreateLogStream", "logs:PutLogEvents"],
      Effect: "Allow",
      Resource: "<FleetmainRolloutLogs.Arn>",
    },
    rolloutsOfMain,
    {
      Action: ["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem"],
      Condition: leadingList("FLEET#main"),
      Effect: "Allow",
      Resource: table,
    },
    {
      Action: ["dynamodb:DeleteItem", "dynamodb:GetItem", "dynamodb:PutItem"],
      Condition: leadingList("INVOCATION#*"),
      Effect: "Allow",
      Resource: table,
    },
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
    rolloutsOfMain,
    {
      Action: ["dynamodb:GetItem", "dynamodb:PutItem"],
      Condition: leadingList("ENGINE#main"),
      Effect: "Allow",
      Resource: table,
    },
    {
      Action: ["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem"],
      Condition: leadingList("FLEET#main"),
      Effect: "Allow",
      Resource: table,
    },
    {
      Action: ["dynamodb:BatchGetItem", "dynamodb:DeleteItem", "dynamodb:GetItem", "dynamodb:PutItem"],
      Condition: leadingList("INVOCATION#*"),
      Effect: "Allow",
      Resource: table,
    },
    {
      Action: "dynamodb:Query",
      Condition: leadingList("main", "main#unconfirmed", "main#missing", "main#invocations"),
      Effect: "Allow",
      Resource: `${table}/index/open-by-expiry`,
    },
    {
      Action: "dynamodb:Query",
      Condition: leadingList("main"),
      Effect: "Allow",
      Resource: `${table}/index/by-change`,
    },
    {
      Action: ["sqs:ChangeMessageVisibility", "sqs:DeleteMessage", "sqs:GetQueueAttributes"],
      Effect: "Allow",
      Resource: "<FleetmainQueue.Arn>",
    },
    {
      Action: "sqs:GetQueueAttributes",
      Effect: "Allow",
      Resource: "<FleetmainDeadLetterQueue.Arn>",
    },
  ]);
});

test("the function that compares the fleets' names may do this and nothing else", () => {
  expect(statements("FleetNamesCheckRole")).toEqual([
    {
      Action: ["logs:CreateLogStream", "logs:PutLogEvents"],
      Effect: "Allow",
      Resource: "<FleetNamesCheckLogs.Arn>",
    },
    { Action: "cloudformation:DescribeStacks", Effect: "Allow", Resource: "<AWS::StackId>" },
  ]);
});

test("the schedule may call its function and nothing else", () => {
  expect(statements("EnginemainSchedulerRole")).toEqual([
    {
      Action: "lambda:InvokeFunction",
      Effect: "Allow",
      Resource: "<EnginemainLifecycleFunction.Arn>",
    },
  ]);
});

test("a role can be taken by its own service alone, the scheduler's only for this account", () => {
  const roles = template.findResources("AWS::IAM::Role");
  const trust = Object.values(roles).map(
    ({ Properties }) => plain(Properties["AssumeRolePolicyDocument"]) as { Statement: unknown },
  );
  const lambda = {
    Action: "sts:AssumeRole",
    Effect: "Allow",
    Principal: { Service: "lambda.amazonaws.com" },
  };
  const scheduler = {
    Action: "sts:AssumeRole",
    Condition: { StringEquals: { "aws:SourceAccount": "<AWS::AccountId>" } },
    Effect: "Allow",
    Principal: { Service: "scheduler.amazonaws.com" },
  };
  expect(trust.map(({ Statement }) => Statement)).toEqual([[lambda], [lambda], [scheduler], [lambda]]);
});

test("a fleet cannot touch what belongs to another, nor an engine", () => {
  const stack = synthesise({
    engines: { a: { url: "http://a:1" }, b: { url: "http://b:1" } },
    fleets: { x: { engine: "a" }, y: { engine: "a" }, z: { engine: "b" } },
  });
  expect(partitionsOf(statements("FleetxRolloutRole", stack))).toEqual([
    "ROLLOUT#x#*",
    "FLEET#x",
    "INVOCATION#*",
  ]);
  expect(partitionsOf(statements("EngineaLifecycleRole", stack))).toEqual([
    "ROLLOUT#x#*",
    "ROLLOUT#y#*",
    "ENGINE#a",
    "FLEET#x",
    "FLEET#y",
    "INVOCATION#*",
    "a",
    "a#unconfirmed",
    "a#missing",
    "x#invocations",
    "y#invocations",
    "x",
    "y",
  ]);
});

test("what a fleet has left open that is given up can be settled, and its queue is nobody's", () => {
  const stack = synthesise({ engineUrl, fleets: { main: {} }, retiredFleets: ["old"] });
  const found = statements("EnginemainLifecycleRole", stack);
  expect(partitionsOf(found)).toEqual(
    expect.arrayContaining([
      "ROLLOUT#main#*",
      "ROLLOUT#old#*",
      "FLEET#main",
      "FLEET#old",
      "main#invocations",
      "old#invocations",
    ]),
  );
  expect(JSON.stringify(found)).not.toContain("oldQueue");
  const { Environment } = plain(
    resource(stack, "AWS::Lambda::Function", "EnginemainLifecycle").Properties,
  ) as { Environment: { Variables: Record<string, string> } };
  // A queue has its address when it is deployed.
  const deployed = { ...Environment.Variables, SORTIE_FLEETS: "[]" };
  expect(readLifecycleEnvironment(deployed).retiredFleets).toEqual(["old"]);
});

test("there is no other policy, and no role takes one that AWS manages", () => {
  template.resourceCountIs("AWS::IAM::Policy", 4);
  template.resourceCountIs("AWS::IAM::Role", 4);
  const roles = Object.values(template.findResources("AWS::IAM::Role"));
  const beyond = ["ManagedPolicyArns", "Policies"];
  const found = roles.flatMap(({ Properties }) =>
    Object.keys(Properties).filter((key) => beyond.includes(key)),
  );
  expect(found).toEqual([]);
});

// No local server checks permissions: an action that is missing would show first in somebody's account.
/** Where a token is set, and granted then: `engine-access.test.ts`. */
const readsToken = "secretsmanager:GetSecretValue";
/** Lambda itself does these in the function's name. */
const logs = ["logs:CreateLogStream", "logs:PutLogEvents"];
const eventSource = ["sqs:ReceiveMessage", "sqs:GetQueueAttributes"];
test.each([
  // Finding other invocations is the sweep's.
  [
    "rollout",
    entries.rollout,
    "FleetmainRolloutRole",
    [readsToken, "dynamodb:Query", "dynamodb:BatchGetItem"],
    [...logs, ...eventSource],
  ],
  ["lifecycle", entries.lifecycle, "EnginemainLifecycleRole", [readsToken], logs],
  ["fleet names", entries.fleetNames, "FleetNamesCheckRole", [], logs],
])("the %s function may do what its code does, and no more", (_, entry, role, neverCalled, others) => {
  const granted = statements(role).flatMap(({ Action }) => Action);
  const used = usedActions(entry).filter((action) => !neverCalled.some((never) => never === action));
  expect(used.length).toBeGreaterThan(0);
  expect(new Set(granted)).toEqual(new Set([...used, ...others]));
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
  const commands = code.matchAll(/new (\w+)Command\d*\(|\bpaginate(\w+?)\d*\(/g);
  const names = [...commands].map(([, command, paginator]) => command ?? paginator ?? "");
  return [...new Set(names)].map((name) => `${serviceOf(name)}:${permissionOf(name)}`);
}

/** SQS knows no permission for its calls in batches: it asks for that of the single one. */
function permissionOf(command: string): string {
  return serviceOf(command) === "sqs" ? command.replace(/Batch$/, "") : command;
}

function serviceOf(command: string): string {
  if (command === "DescribeStacks") return "cloudformation";
  if (command === "GetSecretValue") return "secretsmanager";
  return /Message|Queue/.test(command) ? "sqs" : "dynamodb";
}

/** The partitions that the statements about the table name, in order. */
function partitionsOf(found: readonly Statement[]): string[] {
  return found.flatMap(
    ({ Condition }) =>
      (Condition as { "ForAllValues:StringLike"?: Record<string, string[]> } | undefined)?.[
        "ForAllValues:StringLike"
      ]?.["dynamodb:LeadingKeys"] ?? [],
  );
}
