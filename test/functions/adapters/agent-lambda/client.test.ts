import { LambdaClient } from "@aws-sdk/client-lambda";
import { describe, expect, test } from "vitest";
import { lambdaAgent } from "../../../../functions/adapters/agent-lambda/client.ts";
import type { Invocation } from "../../../../functions/contract/agent-invocation.ts";
import { outcomeOf } from "../../../../functions/core/rollout/agent-answer.ts";
import { type Respond, sendJson, serve } from "../../../support/http-server.ts";

const body = { prompt: "2+2?" } as Invocation;

function clientAt(endpoint: string) {
  const credentials = { accessKeyId: "a", secretAccessKey: "s" };
  return new LambdaClient({ endpoint, region: "eu-west-1", credentials, maxAttempts: 1 });
}

async function call(respond: Respond) {
  await using server = await serve(respond);
  const agent = lambdaAgent({ client: clientAt(server.url), functionName: "my-agent" });
  const { signal } = new AbortController();
  const result = await agent
    .call({ body, session: "s", signal, deadline: 0 })
    .catch((error: unknown) => error);
  return { result, requests: server.received };
}

const error =
  (status: number, type: string, headers: Record<string, string> = {}): Respond =>
  (_, response) =>
    response
      .writeHead(status, { "content-type": "application/json", "x-amzn-errortype": type, ...headers })
      .end(JSON.stringify({ message: `it is ${type}` }));
const functionError =
  (payload: unknown): Respond =>
  (_, response) =>
    response
      .writeHead(200, { "content-type": "application/json", "x-amz-function-error": "Unhandled" })
      .end(JSON.stringify(payload));

describe("an agent in a Lambda function", () => {
  test("gets the contract's body as its event, and its result is the answer", async () => {
    const { result, requests } = await call((_, response) => sendJson(response, 200, { reward: 1 }));
    expect(result).toEqual({ status: 200, contentType: "application/json", text: '{"reward":1}' });
    expect(requests).toMatchObject([
      { method: "POST", path: "/2015-03-31/functions/my-agent/invocations", json: body },
    ]);
  });

  test.each([
    [429, "TooManyRequestsException", "busy"],
    [502, "EC2ThrottledException", "busy"],
    [409, "ResourceConflictException", "busy"],
    [400, "InvalidRequestContentException", "refused"],
    [413, "RequestTooLargeException", "refused"],
    [404, "ResourceNotFoundException", "unreachable"],
    [403, "AccessDeniedException", "unreachable"],
    [500, "ServiceException", "unreachable"],
  ])("%d %s is %s, and not repeated", async (status, type, failure) => {
    const { result, requests } = await call(error(status, type));
    expect(result).toMatchObject({ failure, message: expect.stringContaining(type) });
    expect(requests).toHaveLength(1);
  });

  test("that is throttled may say for how long", async () => {
    const { result } = await call(error(429, "TooManyRequestsException", { "retry-after": "9" }));
    expect(result).toMatchObject({ failure: "busy", retryAfterMs: 9000 });
  });

  test("whose connection breaks is lost; without one it is unreachable", async () => {
    const { result, requests } = await call(({ socket }) => socket.destroy());
    expect(result).toMatchObject({ failure: "lost" });
    expect(requests).toHaveLength(1);
    const agent = lambdaAgent({ client: clientAt("http://127.0.0.1:1"), functionName: "f" });
    const { signal } = new AbortController();
    await expect(agent.call({ body, session: "s", signal, deadline: 0 })).rejects.toMatchObject({
      failure: "unreachable",
    });
  });

  test("that ran out of its own time is told apart from one that failed", async () => {
    const { result } = await call(
      functionError({ errorType: "Sandbox.Timedout", errorMessage: "Task timed out after 3.00 seconds" }),
    );
    expect(result).toMatchObject({
      failure: "deadline",
      message: expect.stringContaining("after 3.00 seconds"),
    });
  });

  test.each([
    [
      { errorType: "KeyError", errorMessage: "'reference'", stackTrace: ['  File "a.py", line 3\n'] },
      "KeyError: 'reference'",
    ],
    [
      { errorType: "Runtime.ExitError", errorMessage: "exited with code 137" },
      "Runtime.ExitError: exited with code 137",
    ],
    [{ errorMessage: "Runtime exited" }, "Runtime exited"],
    ["odd", "odd"],
  ])("that failed (%j) says so in its own words", async (payload, detail) => {
    const { result } = await call(functionError(payload));
    const work = {
      rollout: { episodeType: "train" as const },
      allowUnusualRewards: false,
      log: () => undefined,
    };
    expect(outcomeOf(result as never, work)).toEqual({ kind: "failed", reason: "agent-error", detail });
  });
});
