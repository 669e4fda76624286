import type { CloudFormationCustomResourceEvent } from "aws-lambda";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { credentials, region } from "../../local/region.ts";
import { type Respond, serve } from "../support/http-server.ts";

const StackId = "arn:aws:cloudformation:eu-west-1:111122223333:stack/Sortie/1";
const names = { ServiceToken: "arn:function", Fleets: "math,hard", RetiredFleets: "" };

afterEach(() => {
  vi.unstubAllEnvs();
  vi.resetModules();
});

/** Calls the function as CloudFormation does, and resolves to what it was answered. */
async function answerTo(event: object, stackStatus?: string): Promise<unknown> {
  const answers = await serve((_, response) => response.end());
  onTestFinished(() => answers[Symbol.asyncDispose]());
  const cloudFormation = await serve(describes(stackStatus));
  onTestFinished(() => cloudFormation[Symbol.asyncDispose]());
  vi.stubEnv("AWS_ENDPOINT_URL_CLOUDFORMATION", cloudFormation.url);
  vi.stubEnv("AWS_REGION", region);
  vi.stubEnv("AWS_MAX_ATTEMPTS", "1");
  vi.stubEnv("AWS_ACCESS_KEY_ID", credentials.accessKeyId);
  vi.stubEnv("AWS_SECRET_ACCESS_KEY", credentials.secretAccessKey);
  const { handler } = await import("../../functions/fleet-names.ts");
  const ids = { StackId, RequestId: "request", LogicalResourceId: "Names" };
  await handler({
    ...ids,
    ResponseURL: `${answers.url}/answer?signature=x`,
    ...event,
  } as CloudFormationCustomResourceEvent);
  expect(answers.received).toHaveLength(1);
  const [{ method, path, json } = { method: "", path: "", json: undefined }] = answers.received;
  expect([method, path]).toEqual(["PUT", "/answer?signature=x"]);
  expect(json).toMatchObject(ids);
  return json;
}

/** CloudFormation's own words; without a status it refuses. */
function describes(status: string | undefined): Respond {
  return (_, response) =>
    status === undefined
      ? response.writeHead(403).end()
      : response
          .writeHead(200, { "content-type": "text/xml" })
          .end(
            `<DescribeStacksResponse><DescribeStacksResult><Stacks><member><StackName>Sortie</StackName>` +
              `<StackStatus>${status}</StackStatus></member></Stacks></DescribeStacksResult></DescribeStacksResponse>`,
          );
}

const renamed = {
  RequestType: "Update",
  PhysicalResourceId: "fleet-names",
  ResourceProperties: { ...names, Fleets: "maths,hard" },
  OldResourceProperties: names,
};

test("the first deployment has nothing to compare", async () => {
  const answer = await answerTo({ RequestType: "Create", ResourceProperties: names });
  expect(answer).toMatchObject({ Status: "SUCCESS", PhysicalResourceId: "fleet-names" });
});

test("a deployment that loses a fleet fails, and says what to do", async () => {
  expect(await answerTo(renamed, "UPDATE_IN_PROGRESS")).toMatchObject({
    Status: "FAILED",
    PhysicalResourceId: "fleet-names",
    Reason: expect.stringMatching(
      /found none named math\. A fleet cannot be renamed.*retiredFleets to \["math"\]/,
    ),
  });
});

test("a fleet that is given up on purpose may go", async () => {
  const ResourceProperties = { ...names, Fleets: "hard", RetiredFleets: "math" };
  expect(await answerTo({ ...renamed, ResourceProperties })).toMatchObject({ Status: "SUCCESS" });
});

// Going back from [a, b] to [a] looks like losing b, and a rollback that fails leaves a stack that nobody can update.
test.each(["UPDATE_ROLLBACK_IN_PROGRESS", undefined])(
  "a deployment that goes back is not refused (stack: %s)",
  async (status) => {
    expect(await answerTo(renamed, status)).toMatchObject({ Status: "SUCCESS" });
  },
);

test("a stack that is deleted may lose all of its fleets", async () => {
  const answer = await answerTo({
    RequestType: "Delete",
    PhysicalResourceId: "fleet-names",
    ResourceProperties: names,
  });
  expect(answer).toMatchObject({ Status: "SUCCESS" });
});
