import { describe, expect, test } from "vitest";
import { deadUrl, engineAt, engineThat, errorOf } from "../../../support/engine-that.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { type Respond, sendJson, sendText } from "../../../support/http-server.ts";

const page: Respond = (_, response) =>
  sendText(response, 200, "<!doctype html><h1>Welcome</h1>", "text/html; charset=utf-8");

describe("a GET that fails in passing", () => {
  const pool = { completed_tasks: 3, sample_collection_method: "something_new", unheard_of: true };
  const failsOnce = (fail: Respond): Respond => {
    let failed = false;
    return (received, response) => {
      if (failed) return sendJson(response, 200, pool);
      failed = true;
      fail(received, response);
    };
  };

  test.for([
    ["503", (_, response) => sendText(response, 503, "busy")],
    ["429", (_, response) => sendText(response, 429, "slow down")],
    ["a broken connection", ({ socket }) => socket.destroy()],
  ] as const satisfies [string, Respond][])("with %s is tried once more after a pause", async ([, fail]) => {
    const clock = new FakeClock();
    const { engine, server } = await engineThat(failsOnce(fail), { clock });
    expect(await engine.pool()).toMatchObject({ completed_tasks: 3, completed_episodes: 0 });
    expect(server.received).toHaveLength(2);
    expect(clock.sleeps).toEqual([500]);
  });

  test("is given up after that", async () => {
    const { engine, server } = await engineThat((_, response) => sendText(response, 503, "busy"));
    expect(await errorOf(engine.pool())).toMatchObject({ failure: "unclear", status: 503, detail: "busy" });
    expect(server.received).toHaveLength(2);
  });

  test("with 404 is not tried again", async () => {
    const { engine, server } = await engineThat((_, response) =>
      sendJson(response, 404, { detail: "Not Found" }),
    );
    expect((await errorOf(engine.pool())).failure).toBe("refused");
    expect(server.received).toHaveLength(1);
  });
});

describe("the status", () => {
  const says =
    (engine_status: string): Respond =>
    (_, response) =>
      sendJson(response, 200, { engine_status, global_step: 7 });

  test("of an engine that is not there is CANNOT_CONNECT, with the reason", async () => {
    const status = await engineAt(await deadUrl()).status();
    expect(status).toMatchObject({ engine_status: "ENGINE.CANNOT_CONNECT", global_step: null });
    expect(status.engine_status_detail).toContain("ECONNREFUSED");
  });

  test("of something that is no engine is CANNOT_CONNECT, with the reason", async () => {
    const { engine } = await engineThat(page);
    const status = await engine.status();
    expect(status.engine_status).toBe("ENGINE.CANNOT_CONNECT");
    expect(status.engine_status_detail).toContain("check engineUrl");
  });

  test("of an engine that hangs is CANNOT_CONNECT", async () => {
    const { engine } = await engineThat(() => {}, { timeouts: { get_engine_status: 300 } });
    expect((await engine.status()).engine_status_detail).toContain("no answer within 0.3 s");
  });

  test("that nobody has heard of survives", async () => {
    const { engine } = await engineThat(says("ENGINE.DREAMING"));
    expect(await engine.status()).toEqual({
      engine_status: "ENGINE.DREAMING",
      engine_status_detail: null,
      global_step: 7,
    });
  });

  test("is asked once for everybody who asks meanwhile", async () => {
    const { engine, server } = await engineThat(says("ENGINE.ROLLING"));
    const all = await Promise.all([engine.status(), engine.status(), engine.status()]);
    expect(all.map((status) => status.engine_status)).toEqual([
      "ENGINE.ROLLING",
      "ENGINE.ROLLING",
      "ENGINE.ROLLING",
    ]);
    expect(server.received).toHaveLength(1);
  });

  test("is asked again after half a second, not before", async () => {
    const clock = new FakeClock();
    const { engine, server } = await engineThat(says("ENGINE.ROLLING"), { clock });
    await engine.status();
    await clock.advance(499);
    await engine.status();
    expect(server.received).toHaveLength(1);
    await clock.advance(1);
    await engine.status();
    expect(server.received).toHaveLength(2);
  });
});

test("the buffer's base URLs have this client's address", async () => {
  const buffer = [
    { episode_uuid: "ep-1", openai_base_url: "http://10.0.0.5:27788/v1", optional_task_id: null },
  ];
  const { engine, server } = await engineThat((_, response) => sendJson(response, 200, { buffer }));
  expect((await engine.buffer()).map((episode) => episode.openai_base_url)).toEqual([`${server.url}/v1`]);
});

test("a stop that older engines answer with null is a success", async () => {
  const { engine } = await engineThat((_, response) => sendJson(response, 200, null));
  expect(await engine.stop()).toBeNull();
});
