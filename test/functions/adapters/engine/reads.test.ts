import { describe, expect, test, vi } from "vitest";
import { STALE_MS } from "../../../../functions/adapters/engine/status.ts";
import { deadUrl, engineAt, engineThat, errorOf } from "../../../support/engine-that.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { type Respond, sendJson, sendText } from "../../../support/http-server.ts";

const page: Respond = (_, response) =>
  sendText(response, 200, "<!doctype html><h1>Welcome</h1>", "text/html; charset=utf-8");

describe("a GET that fails in passing", () => {
  const pool = {
    engine_status: "ENGINE.ROLLING",
    completed_tasks: 3,
    sample_collection_method: "something_new",
    unheard_of: true,
  };
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

  test("is tried again when the answer says, within the call's time", async () => {
    const clock = new FakeClock();
    const wait = (seconds: string) =>
      failsOnce((_, response) => response.writeHead(429, { "retry-after": seconds }).end());
    const patient = await engineThat(wait("4"), { clock });
    await patient.engine.pool();
    expect(clock.sleeps).toEqual([4000]);
    const hurried = await engineThat(wait("10"), { clock });
    expect(await errorOf(hurried.engine.pool())).toMatchObject({ failure: "unclear", retryAfterMs: 10_000 });
    expect(hurried.server.received).toHaveLength(1);
    expect(clock.sleeps).toEqual([4000]);
  });

  test("since the engine could not build it is tried once more, and never believed", async () => {
    const empty = { engine_status: null, completed_tasks: 0, running_episode_details: null };
    const once = await engineThat(failsOnce((_, response) => sendJson(response, 200, empty)));
    expect(await once.engine.pool()).toMatchObject({ completed_tasks: 3 });
    const always = await engineThat((_, response) => sendJson(response, 200, empty));
    const error = await errorOf(always.engine.pool());
    expect(error).toMatchObject({ failure: "unclear", status: 200 });
    expect(error.detail).toContain("engine_status: expected a string");
  });

  test("is tried again too where it is a POST that only reads", async () => {
    const { engine, server } = await engineThat((_, response) =>
      server.received.length === 1
        ? sendText(response, 500, "Internal Server Error")
        : sendJson(response, 200, { buffer: [] }),
    );
    expect(await engine.buffer()).toEqual([]);
    expect(server.received).toHaveLength(2);
  });

  test("with 404 is not tried again", async () => {
    const { engine, server } = await engineThat((_, response) =>
      sendJson(response, 404, { detail: "Not Found" }),
    );
    expect((await errorOf(engine.pool())).failure).toBe("unclear");
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

  test.for([
    ["an empty object", "{}"],
    ["a proxy's words", '{"message":"service discovery failed"}'],
    ["nothing", ""],
    ["a null", '{"engine_status":null}'],
  ] as const)("is none that a proxy makes up: %s is CANNOT_CONNECT", async ([, text]) => {
    const { engine, server } = await engineThat((_, response) =>
      sendText(response, 200, text, "application/json"),
    );
    expect((await engine.status()).engine_status).toBe("ENGINE.CANNOT_CONNECT");
    expect(server.received).toHaveLength(2);
  });

  test("that is pending for longer than its call may take is asked anew: the process was frozen", async () => {
    const clock = new FakeClock();
    const held: (() => void)[] = [];
    const { engine, server } = await engineThat(
      (_, response) => {
        const step = held.length + 1;
        held.push(() => sendJson(response, 200, { engine_status: "ENGINE.ROLLING", global_step: step }));
      },
      { clock },
    );
    const before = engine.status();
    await vi.waitFor(() => expect(server.received).toHaveLength(1));
    await clock.advance(STALE_MS);
    const after = engine.status();
    await vi.waitFor(() => expect(server.received).toHaveLength(2));
    for (const answer of held) answer();
    expect((await after).global_step).toBe(2);
    await before;
    // Nor does the late answer take the place of the newer one.
    expect((await engine.status()).global_step).toBe(2);
  });

  test("whose answer came after a freeze is not kept", async () => {
    const clock = new FakeClock();
    let release = () => {};
    const { engine, server } = await engineThat(
      (_, response) => {
        release = () => sendJson(response, 200, { engine_status: "ENGINE.ROLLING", global_step: 1 });
      },
      { clock },
    );
    const before = engine.status();
    await vi.waitFor(() => expect(server.received).toHaveLength(1));
    await clock.advance(300_000);
    release();
    await before;
    const after = engine.status();
    await vi.waitFor(() => expect(server.received).toHaveLength(2));
    release();
    await after;
  });

  test("of an engine behind a limiter is not asked again before the limiter's time, a minute at most", async () => {
    const clock = new FakeClock();
    const { engine, server } = await engineThat(
      (_, response) => response.writeHead(429, { "retry-after": "40" }).end(),
      { clock },
    );
    expect((await engine.status()).engine_status).toBe("ENGINE.CANNOT_CONNECT");
    await clock.advance(39_999);
    await engine.status();
    expect(server.received).toHaveLength(1);
    await clock.advance(1);
    await engine.status();
    expect(server.received).toHaveLength(2);
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

test("an address in the buffer that is none is left out", async () => {
  const buffer = [{ episode_uuid: "ep-1", openai_base_url: "http:///other/v1" }];
  const { engine } = await engineThat((_, response) => sendJson(response, 200, { buffer }));
  expect((await engine.buffer())[0]?.openai_base_url).toBe("");
});

test("no cache on the way may answer for the engine", async () => {
  const { engine, server } = await engineThat((_, response) => sendJson(response, 200, { buffer: [] }));
  await engine.buffer();
  expect(server.received[0]?.headers["cache-control"]).toBe("no-cache");
});

test("a stop that older engines answer with null is a success", async () => {
  const { engine } = await engineThat((_, response) => sendJson(response, 200, null));
  expect(await engine.stop()).toBeNull();
});
