/** AgentCore's API here, by the SDK's client and the adapter that is deployed. */
import { BedrockAgentCoreClient } from "@aws-sdk/client-bedrock-agentcore";
import { expect, onTestFinished, test, vi } from "vitest";
import { agentCoreAgent } from "../../../functions/adapters/agent-agentcore/client.ts";
import type { Invocation } from "../../../functions/contract/agent-invocation.ts";
import { sessionId } from "../../../functions/core/rollout/agent-request.ts";
import { startRuntimeApi } from "../../../local/agentcore/runtime-api.ts";
import { type Respond, sendJson, serve } from "../../support/http-server.ts";

const session = sessionId("invocation-1.1");
const body = { prompt: "2+2?" } as Invocation;

async function runtimeOf(respond: Respond) {
  const service = await serve(respond);
  const api = await startRuntimeApi(service.url);
  onTestFinished(async () => {
    await api.close();
    await service[Symbol.asyncDispose]();
  });
  const credentials = { accessKeyId: "a", secretAccessKey: "s" };
  const { endpoint } = api;
  const client = new BedrockAgentCoreClient({ endpoint, region: "eu-west-1", credentials, maxAttempts: 1 });
  const runtimeArn = "arn:aws:bedrock-agentcore:eu-west-1:111122223333:runtime/my_agent-AbCdEf1234";
  const agent = agentCoreAgent({ client, runtimeArn });
  const call = (signal = new AbortController().signal, id = session) =>
    agent.call({ body, session: id, signal, deadline: 0 }).catch((error: unknown) => error);
  return { api, service, call, over: () => agent.over?.(session) };
}

test("a session is open from its invocation until it is stopped", async () => {
  const { api, service, call, over } = await runtimeOf((_, response) =>
    sendJson(response, 200, { reward: 1 }),
  );
  expect(await call()).toEqual({ status: 200, contentType: "application/json", text: '{"reward":1}' });
  expect(service.received).toMatchObject([
    {
      method: "POST",
      path: "/invocations",
      json: body,
      headers: { "x-amzn-bedrock-agentcore-runtime-session-id": session },
    },
  ]);
  expect(api.open()).toEqual([session]);
  await over();
  expect(api.open()).toEqual([]);
  // One that is gone is no trouble.
  await over();
});

test("stopping a session ends what runs in it", async () => {
  const closed = vi.fn();
  const { service, call, over } = await runtimeOf(({ socket }) => socket.once("close", closed));
  const running = call();
  await vi.waitFor(() => expect(service.received).toHaveLength(1));
  await over();
  await vi.waitFor(() => expect(closed).toHaveBeenCalledOnce());
  expect(await running).toMatchObject({ status: 502 });
});

test("a caller that leaves closes the connection, and its session waits to be stopped", async () => {
  const closed = vi.fn();
  const { api, service, call } = await runtimeOf(({ socket }) => socket.once("close", closed));
  const leaving = new AbortController();
  const running = call(leaving.signal);
  await vi.waitFor(() => expect(service.received).toHaveLength(1));
  leaving.abort();
  expect(await running).toMatchObject({ name: "AbortError" });
  await vi.waitFor(() => expect(closed).toHaveBeenCalledOnce());
  expect(api.open()).toEqual([session]);
});

test("the agent's error is told by its status alone, one that is busy as such", async () => {
  const failing = await runtimeOf((_, response) => sendJson(response, 500, { error: "KeyError" }));
  expect(await failing.call()).toMatchObject({
    status: 500,
    text: expect.stringContaining("Received error (500) from runtime"),
  });
  const full = await runtimeOf((_, response) => sendJson(response, 429, {}));
  expect(await full.call()).toMatchObject({ failure: "busy" });
});

test("a session's id has at least 33 characters", async () => {
  const { call } = await runtimeOf((_, response) => sendJson(response, 200, {}));
  expect(await call(undefined, "short")).toMatchObject({
    failure: "refused",
    message: expect.stringContaining("33 to 256 characters, found 5"),
  });
});
