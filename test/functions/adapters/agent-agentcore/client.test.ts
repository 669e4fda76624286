import { BedrockAgentCoreClient } from "@aws-sdk/client-bedrock-agentcore";
import { describe, expect, test } from "vitest";
import { agentCoreAgent } from "../../../../functions/adapters/agent-agentcore/client.ts";
import type { Invocation } from "../../../../functions/contract/agent-invocation.ts";
import { sessionId } from "../../../../functions/core/rollout/agent-request.ts";
import { type Respond, sendJson, serve } from "../../../support/http-server.ts";

const arn = "arn:aws:bedrock-agentcore:eu-west-1:111122223333:runtime/my_agent-AbCdEf1234";
const path = `/runtimes/${encodeURIComponent(arn)}`;
const body = { prompt: "2+2?" } as Invocation;
const session = sessionId("invocation-1.1");

function agentAt(endpoint: string) {
  const credentials = { accessKeyId: "a", secretAccessKey: "s" };
  const client = new BedrockAgentCoreClient({ endpoint, region: "eu-west-1", credentials, maxAttempts: 1 });
  return agentCoreAgent({ client, runtimeArn: arn, qualifier: "live" });
}

async function call(respond: Respond) {
  await using server = await serve(respond);
  const { signal } = new AbortController();
  const given = { body, session, signal, deadline: 0 };
  const result = await agentAt(server.url)
    .call(given)
    .catch((error: unknown) => error);
  return { result, requests: server.received };
}

const error =
  (status: number, type: string, message = `it is ${type}`): Respond =>
  (_, response) =>
    response
      .writeHead(status, { "content-type": "application/json", "x-amzn-errortype": type })
      .end(JSON.stringify({ message }));

describe("an agent in an AgentCore runtime", () => {
  test("is asked in a session of its own", async () => {
    const { result, requests } = await call((_, response) => sendJson(response, 200, { reward: 1 }));
    expect(result).toEqual({ status: 200, contentType: "application/json", text: '{"reward":1}' });
    expect(requests).toMatchObject([
      {
        method: "POST",
        path: `${path}/invocations?qualifier=live`,
        json: body,
        headers: { "x-amzn-bedrock-agentcore-runtime-session-id": session },
      },
    ]);
  });

  test.each([
    [429, "ThrottlingException", "busy"],
    [402, "ServiceQuotaExceededException", "busy"],
    [400, "ValidationException", "refused"],
    [404, "ResourceNotFoundException", "unreachable"],
    [403, "AccessDeniedException", "unreachable"],
    [500, "InternalServerException", "unreachable"],
  ])("%d %s is %s, and not repeated", async (status, type, failure) => {
    const { result, requests } = await call(error(status, type));
    expect(result).toMatchObject({ failure });
    expect(requests).toHaveLength(1);
  });

  test("whose own error the service tells of has failed, in the service's words", async () => {
    const words =
      "Received error (500) from runtime. Please check your CloudWatch logs for more information.";
    const { result } = await call(error(424, "RuntimeClientError", words));
    expect(result).toMatchObject({
      status: 500,
      text: expect.stringContaining("Received error (500) from runtime"),
    });
    const busy = await call(error(424, "RuntimeClientError", "Received error (429) from runtime."));
    expect(busy.result).toMatchObject({ failure: "busy" });
  });

  test("has its session stopped, and one that is gone already is no trouble", async () => {
    await using server = await serve((_, response) => sendJson(response, 200, {}));
    await agentAt(server.url).over?.(session);
    expect(server.received).toMatchObject([
      { method: "POST", path: `${path}/stopruntimesession?qualifier=live` },
    ]);
    await using gone = await serve(error(404, "ResourceNotFoundException"));
    await agentAt(gone.url).over?.(session);
    await using broken = await serve(error(500, "InternalServerException"));
    await expect(agentAt(broken.url).over?.(session)).rejects.toThrow("InternalServerException");
  });
});
