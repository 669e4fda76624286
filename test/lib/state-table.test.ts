import { expect, test } from "vitest";
import { resource, synthesise } from "./synthesise.ts";

const { Properties, ...attributes } = resource(synthesise(), "AWS::DynamoDB::GlobalTable");

test("CloudFormation names it: fleets of two deployments on one engine are told apart by their tables' names", () => {
  expect(Object.keys(Properties ?? {})).not.toContain("TableName");
});

test("keys and indexes", () => {
  expect(Properties).toMatchObject({
    BillingMode: "PAY_PER_REQUEST",
    KeySchema: [
      { AttributeName: "pk", KeyType: "HASH" },
      { AttributeName: "sk", KeyType: "RANGE" },
    ],
    GlobalSecondaryIndexes: [
      {
        IndexName: "open-by-expiry",
        KeySchema: [
          { AttributeName: "open_engine", KeyType: "HASH" },
          { AttributeName: "open_until", KeyType: "RANGE" },
        ],
        Projection: { ProjectionType: "INCLUDE", NonKeyAttributes: ["invocation"] },
      },
      {
        IndexName: "by-change",
        KeySchema: [
          { AttributeName: "changed_fleet", KeyType: "HASH" },
          { AttributeName: "changed_at", KeyType: "RANGE" },
        ],
        Projection: {
          ProjectionType: "INCLUDE",
          NonKeyAttributes: ["state", "episode_type", "task_id", "history", "attempts"],
        },
      },
    ],
    AttributeDefinitions: [
      { AttributeName: "pk", AttributeType: "S" },
      { AttributeName: "sk", AttributeType: "S" },
      { AttributeName: "open_engine", AttributeType: "S" },
      { AttributeName: "open_until", AttributeType: "N" },
      { AttributeName: "changed_fleet", AttributeType: "S" },
      { AttributeName: "changed_at", AttributeType: "N" },
    ],
  });
});

test("items expire, are encrypted with AWS's key, and can be restored", () => {
  expect(Properties).toMatchObject({
    TimeToLiveSpecification: { AttributeName: "expires_ttl", Enabled: true },
    SSESpecification: { SSEEnabled: true, SSEType: "KMS" },
    Replicas: [{ PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true } }],
  });
});

test("it outlives the stack", () => {
  expect(attributes).toMatchObject({
    DeletionPolicy: "RetainExceptOnCreate",
    UpdateReplacePolicy: "Retain",
  });
});
