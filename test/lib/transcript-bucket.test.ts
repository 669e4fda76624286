import { Match } from "aws-cdk-lib/assertions";
import { describe, expect, test } from "vitest";
import { decodeSettings } from "../../lib/settings.ts";
import { plain, synthesise } from "./synthesise.ts";

const engineUrl = "http://engine:1";
const fleets = { main: { transcripts: "failures" }, quiet: {}, some: { transcripts: 0.25 } };

describe("a stack whose fleets keep transcripts", () => {
  test("has one bucket: private, encrypted, over TLS alone, emptied by itself, and kept", () => {
    const stack = synthesise({ engineUrl, fleets, transcriptDays: 7, retain: false });
    stack.resourceCountIs("AWS::S3::Bucket", 1);
    stack.hasResource("AWS::S3::Bucket", {
      DeletionPolicy: "RetainExceptOnCreate",
      Properties: {
        PublicAccessBlockConfiguration: {
          BlockPublicAcls: true,
          BlockPublicPolicy: true,
          IgnorePublicAcls: true,
          RestrictPublicBuckets: true,
        },
        BucketEncryption: {
          ServerSideEncryptionConfiguration: [{ ServerSideEncryptionByDefault: { SSEAlgorithm: "AES256" } }],
        },
        LifecycleConfiguration: {
          Rules: [Match.objectLike({ ExpirationInDays: 7, Status: "Enabled" })],
        },
      },
    });
    stack.hasResourceProperties("AWS::S3::BucketPolicy", {
      PolicyDocument: {
        Statement: Match.arrayWith([
          Match.objectLike({
            Effect: "Deny",
            Action: "s3:*",
            Condition: { Bool: { "aws:SecureTransport": "false" } },
          }),
        ]),
      },
    });
    stack.hasOutput("TranscriptBucket", {});
  });

  test("tells its functions so, and lets each put its own fleet's and no more", () => {
    const stack = synthesise({ engineUrl, fleets });
    const functions = Object.values(stack.findResources("AWS::Lambda::Function"));
    const kept = functions.flatMap(({ Properties }) => {
      const { SORTIE_FLEET: fleet, SORTIE_TRANSCRIPTS_KEPT: which } = Properties.Environment?.Variables ?? {};
      return fleet === undefined ? [] : [[fleet, which]];
    });
    expect(Object.fromEntries(kept)).toEqual({ main: "failures", quiet: undefined, some: "0.25" });
    const statements = Object.values(stack.findResources("AWS::IAM::Policy")).flatMap(
      ({ Properties }) => Properties.PolicyDocument.Statement,
    );
    const ofBucket = statements.filter(({ Action }) => JSON.stringify(Action).includes("s3:"));
    expect(plain(ofBucket)).toEqual(
      ["main", "some"].map((fleet) => ({
        Action: "s3:PutObject",
        Effect: "Allow",
        Resource: expect.stringContaining(`/${fleet}/*`),
      })),
    );
  });
});

test("a stack whose fleets keep none has no bucket", () => {
  const stack = synthesise({ engineUrl });
  stack.resourceCountIs("AWS::S3::Bucket", 0);
  expect(JSON.stringify(stack.toJSON())).not.toContain("SORTIE_TRANSCRIPTS");
});

test.each([["some"], [2], [0], [1]])("%j is no share of the rollouts", (transcripts) => {
  expect(() => decodeSettings({ engineUrl, transcripts })).toThrow(
    `transcripts: expected "none", "failures", "all", or a share of the rollouts between 0 and 1, found ${JSON.stringify(transcripts)}`,
  );
});
