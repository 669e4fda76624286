import { Agent, fetch as undiciFetch } from "undici";
import { describe, expect, onTestFinished, test } from "vitest";
import { createEngine } from "../../../../functions/adapters/engine/client.ts";
import {
  connectionOptions,
  FreshDispatcher,
  sharedDispatcher,
} from "../../../../functions/adapters/engine/dispatcher.ts";
import { installFetch } from "../../../../functions/adapters/engine/fetch.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { type Respond, sendJson, sendText, serve } from "../../../support/http-server.ts";

async function startServer(respond: Respond) {
  const server = await serve(respond);
  onTestFinished(() => server[Symbol.asyncDispose]());
  return server;
}

function engineOver(dispatcher: FreshDispatcher | Agent, url: string) {
  onTestFinished(() => dispatcher.destroy());
  return createEngine({ url, clock: new FakeClock(), dispatcher });
}

/** As the engine behaves: after a 500 it reads no more on that connection, and does not say so. */
function dropsAfter500(): Respond {
  const dropped = new Set<number>();
  return ({ connection, path, socket }, response) => {
    if (dropped.has(connection)) socket.destroy();
    else if (path === "/end_episode") {
      dropped.add(connection);
      sendText(response, 500, "Internal Server Error");
    } else sendJson(response, 200, { can_continue: true, success: true });
  };
}

/** undici gives a socket back one turn of the event loop after its answer. */
const turn = () => new Promise(setImmediate);

const workflow_output = { reward: 1, is_success: true, metadata: {}, log_metrics: {} };
const end = { client_uuid: "f/a", episode_uuid: "ep-1", task_id: "t", workflow_output };

describe("a connection", () => {
  test("is kept and used again after a good answer", async () => {
    const server = await startServer((_, response) => sendJson(response, 200, { can_continue: true }));
    const engine = engineOver(new FreshDispatcher(), server.url);
    await engine.canContinue("f/a", "ep-1");
    await turn();
    await engine.canContinue("f/a", "ep-1");
    expect(server.received.map(({ connection }) => connection)).toEqual([1, 1]);
  });

  test("is not used again after a 500, so the next POST arrives", async () => {
    const server = await startServer(dropsAfter500());
    const engine = engineOver(new FreshDispatcher(), server.url);
    await expect(engine.end(end)).rejects.toMatchObject({ failure: "unclear", status: 500 });
    await turn();
    expect(await engine.canContinue("f/a", "ep-1")).toBe(true);
    expect(server.received.map(({ connection }) => connection)).toEqual([1, 2]);
  });

  test("would be used again, and break, without that", async () => {
    const server = await startServer(dropsAfter500());
    const engine = engineOver(new Agent(connectionOptions), server.url);
    await expect(engine.end(end)).rejects.toMatchObject({ status: 500 });
    await turn();
    await expect(engine.end(end)).rejects.toMatchObject({ failure: "unclear", status: undefined });
  });

  test("that is busy while another one gets a 500 finishes its request", async () => {
    let release = () => {};
    const server = await startServer(({ path }, response) => {
      if (path === "/end_episode") return sendText(response, 500, "Internal Server Error");
      release = () => sendJson(response, 200, { can_continue: true });
    });
    const engine = engineOver(new FreshDispatcher(), server.url);
    const slow = engine.canContinue("f/a", "ep-1");
    await expect.poll(() => server.received.length).toBe(1);
    await expect(engine.end(end)).rejects.toMatchObject({ status: 500 });
    release();
    expect(await slow).toBe(true);
  });

  test("is not used again after a pause in which the server may have closed it", async () => {
    let now = 1_000_000;
    const server = await startServer((_, response) => sendJson(response, 200, { can_continue: true }));
    const engine = engineOver(new FreshDispatcher(() => now), server.url);
    await engine.canContinue("f/a", "ep-1");
    await turn();
    now += 3001;
    await engine.canContinue("f/a", "ep-1");
    expect(server.received.map(({ connection }) => connection)).toEqual([1, 2]);
  });
});

test("idle sockets live for less than uvicorn's 5 s, and no default of undici cuts a silent model call", () => {
  expect(connectionOptions).toMatchObject({
    allowH2: false,
    pipelining: 1,
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  expect(connectionOptions.keepAliveTimeout).toBeLessThan(5000);
  expect(connectionOptions.keepAliveMaxTimeout).toBeLessThan(5000);
  expect(connectionOptions.connect.timeout).toBe(10_000);
});

test("an agent's own fetch goes over the same long-lived connections", async () => {
  const builtIn = globalThis.fetch;
  onTestFinished(async () => {
    globalThis.fetch = builtIn;
    await sharedDispatcher().destroy();
  });
  const server = await startServer(({ path }, response) =>
    sendText(response, path === "/broken" ? 500 : 200, "text"),
  );
  installFetch();
  installFetch();
  expect(globalThis.fetch).toBe(undiciFetch);
  expect(globalThis.fetch).not.toBe(builtIn);
  const answers = [];
  for (const path of ["/fine", "/broken", "/fine"]) {
    const answer = await globalThis.fetch(server.url + path, { method: "POST", body: "{}" });
    answers.push([answer.status, await answer.text()]);
    await turn();
  }
  expect(answers).toEqual([
    [200, "text"],
    [500, "text"],
    [200, "text"],
  ]);
  // A fresh connection after the 500 is what only our dispatcher does.
  expect(server.received.map(({ connection }) => connection)).toEqual([1, 1, 2]);
});
