import { describe, expect, test } from "vitest";
import { httpAgent } from "../../../../functions/adapters/agent-http/client.ts";
import { FreshDispatcher, neverSent } from "../../../../functions/adapters/engine/index.ts";
import type { Invocation } from "../../../../functions/contract/agent-invocation.ts";
import { deadUrl } from "../../../support/engine-that.ts";
import { type Respond, sendJson, sendText, serve } from "../../../support/http-server.ts";

const body = { prompt: "2+2?" } as Invocation;

function call(urls: string[], signal = new AbortController().signal) {
  const caller = httpAgent({ urls, dispatcher: new FreshDispatcher(), neverSent });
  return caller.call({ body, session: "session-1", signal, deadline: 0 });
}

async function failing(respond: Respond) {
  await using server = await serve(respond);
  const error = await call([server.url]).catch((cause: unknown) => cause);
  return { error, requests: server.received.length };
}

describe("an agent behind an address", () => {
  test("is asked by POST /invocations, with its session", async () => {
    await using server = await serve((_, response) => sendJson(response, 200, { reward: 1 }));
    expect(await call([`${server.url}/base/`])).toEqual({
      status: 200,
      contentType: "application/json",
      text: '{"reward":1}',
    });
    expect(server.received).toMatchObject([
      {
        method: "POST",
        path: "/base/invocations",
        json: body,
        headers: {
          "x-amzn-bedrock-agentcore-runtime-session-id": "session-1",
          "content-type": "application/json",
        },
      },
    ]);
  });

  test.each([500, 503, 400, 302])("answers HTTP %d, which is not repeated", async (status) => {
    await using server = await serve((_, response) => sendText(response, status, "no"));
    expect(await call([server.url])).toEqual({ status, contentType: "text/plain", text: "no" });
    expect(server.received).toHaveLength(1);
  });

  test.each([
    ["7", 7000],
    ["99999", 600_000],
    ["soon", undefined],
    [undefined, undefined],
  ])("is busy, and may say for how long (%s)", async (header, retryAfterMs) => {
    const { error } = await failing((_, response) => {
      response.writeHead(429, header === undefined ? {} : { "retry-after": header }).end("{}");
    });
    expect(error).toMatchObject({ failure: "busy", retryAfterMs });
  });

  test("that is not there is unreachable", async () => {
    const url = await deadUrl();
    await expect(call([url])).rejects.toMatchObject({
      failure: "unreachable",
      message: expect.stringContaining(`no agent at ${url}: `),
    });
  });

  test("that hangs up before or in its answer is lost, and not asked again", async () => {
    expect(await failing(({ socket }) => socket.destroy())).toMatchObject({
      error: { failure: "lost" },
      requests: 1,
    });
    const cut: Respond = ({ socket }, response) => {
      response.writeHead(200, { "content-length": "100" }).write('{"rew');
      setImmediate(() => socket.destroy());
    };
    expect(await failing(cut)).toMatchObject({ error: { failure: "lost" }, requests: 1 });
  });

  test("that sends more than 6 MiB has failed", async () => {
    const { error } = await failing((_, response) => sendText(response, 200, "x".repeat(7_000_000)));
    expect(error).toMatchObject({ failure: "failed", message: expect.stringContaining("6291456 bytes") });
  });

  test("learns from its closed connection that nobody wants its answer", async () => {
    const closed = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    await using server = await serve(({ socket }) => {
      socket.once("close", () => closed.resolve());
      asked.resolve();
    });
    const controller = new AbortController();
    const answer = call([server.url], controller.signal);
    await asked.promise;
    controller.abort(new Error("over"));
    await expect(answer).rejects.toThrow("over");
    await closed.promise;
  });

  test("in several places is asked in turn, and where one is not there, at the next", async () => {
    await using server = await serve((_, response) => sendJson(response, 200, {}));
    const caller = httpAgent({
      urls: [await deadUrl(), `${server.url}/a`, `${server.url}/b`],
      dispatcher: new FreshDispatcher(),
      neverSent,
    });
    const { signal } = new AbortController();
    for (let n = 0; n < 4; n += 1) await caller.call({ body, session: "s", signal, deadline: 0 });
    expect(server.received.map(({ path }) => path[1])).toEqual(["a", "a", "b", "a"]);
  });
});
