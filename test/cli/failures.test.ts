import { describe, expect, test } from "vitest";
import { CommandFailure, describeFailure } from "../../cli/failures.ts";
import { snapshotSchema } from "../../functions/core/housekeeping/snapshot.ts";

const where = { table: "stats", region: "eu-central-1" };

function errorOf(name: string, message = "", code?: string): Error {
  return Object.assign(new Error(message), { name }, code === undefined ? {} : { code });
}

describe("a failure says what was expected, what was found, and what to do", () => {
  test.each([
    [
      errorOf("CredentialsProviderError", "Could not load credentials from any providers"),
      "expected AWS credentials, found none that work (CredentialsProviderError: Could not load credentials from any " +
        "providers): log in (aws sso login, aws configure), or choose another --profile",
    ],
    [
      errorOf("ExpiredTokenException", "The security token included in the request is expired."),
      "AWS does not accept these credentials in eu-central-1 (ExpiredTokenException: The security token included in the " +
        "request is expired): log in again, or choose another --profile",
    ],
    [
      errorOf("AccessDeniedException", "User: x is not authorized to perform: dynamodb:GetItem"),
      "these credentials may not do this (AccessDeniedException: User: x is not authorized to perform: " +
        "dynamodb:GetItem): ask for dynamodb:GetItem, or choose another --profile",
    ],
    [
      errorOf("Error", "getaddrinfo ENOTFOUND dynamodb.eu-central-1.amazonaws.com", "ENOTFOUND"),
      "DynamoDB cannot be reached in eu-central-1 (ENOTFOUND): check the network, --region and --endpoint-url",
    ],
    [
      errorOf("TimeoutError", "socket timed out"),
      "DynamoDB cannot be reached in eu-central-1 (TimeoutError): check the network, --region and --endpoint-url",
    ],
    [
      errorOf("Error", "Region is missing"),
      "expected an AWS region, found none: give --region or set AWS_REGION; --local looks at a system on this machine",
    ],
  ])("%s", (error, text) => {
    expect(describeFailure(error, where)).toBe(text);
  });

  test("an item of another release", () => {
    const { error } = snapshotSchema.safeParse({
      v: 2,
      at: "x",
      engine: "main",
      status: {},
      pool: null,
      fleets: {},
    });
    expect(describeFailure(error, where)).toBe(
      "the item in the table stats is not of the shape that this release reads (v: Invalid input: expected 1): use the " +
        "sortie command of the release that is deployed",
    );
  });

  test("anything else in its own words, without keys", () => {
    expect(describeFailure(errorOf("Odd", "no sk-ajet-abcdef here"), where)).toBe("Odd: no sk-*** here");
    expect(describeFailure("text", where)).toBe("text");
  });

  test("on one line", () => {
    expect(new CommandFailure(" two\n  lines ").message).toBe("two lines");
  });
});
