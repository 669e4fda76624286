import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { CloudFormationCustomResourceEvent } from "aws-lambda";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { credentials, region } from "../../local/region.ts";
import { serve } from "../support/http-server.ts";

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
  vi.stubEnv("AWS_ENDPOINT_URL_CLOUDFORMATION", await cloudFormation(stackStatus));
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

/** Resolves to the address of a CloudFormation that knows the stack; without a status it refuses to tell. */
async function cloudFormation(status: string | undefined): Promise<string> {
  const words =
    "<DescribeStacksResponse><DescribeStacksResult><Stacks><member><StackName>Sortie</StackName>" +
    `<StackStatus>${status}</StackStatus></member></Stacks></DescribeStacksResult></DescribeStacksResponse>`;
  const server = createServer((_, response) =>
    status === undefined
      ? response.writeHead(403).end()
      : response.writeHead(200, { "content-type": "text/xml" }).end(words),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close().closeAllConnections());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
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
