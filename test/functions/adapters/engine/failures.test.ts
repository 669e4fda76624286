import { describe, expect, test } from "vitest";
import type { ClaimRequest } from "../../../../functions/core/protocol.ts";
import { deadUrl, engineAt, engineThat, errorOf } from "../../../support/engine-that.ts";
import { type Respond, sendJson, sendText } from "../../../support/http-server.ts";

const request: ClaimRequest = {
  client_uuid: "fleet-1/attempt-1",
  episode_type: "train",
  discard_episode_timeout: 240,
  throttle_policy: null,
};
const grant = {
  success: true,
  client_uuid: "fleet-1/attempt-1",
  episode_uuid: "ep-1",
  openai_base_url: "http://localhost:10086/v1",
  openai_api_key: "sk-ajet-c2VjcmV0",
  fail_cause: "",
};

const page: Respond = (_, response) =>
  sendText(response, 200, "<!doctype html><h1>Welcome</h1>", "text/html; charset=utf-8");

describe("a claim", () => {
  test("at an address where nobody listens did nothing: unreachable", async () => {
    const url = await deadUrl();
    const error = await errorOf(engineAt(url).claim(request));
    expect(error).toMatchObject({ failure: "unreachable", code: "engine-unreachable", status: undefined });
    expect(error.message).toContain(`no connection to ${url} (ECONNREFUSED`);
    expect(error.message).toContain("is engineUrl right?");
  });

  test("at a host without an address did nothing: unreachable", async () => {
    const error = await errorOf(engineAt("http://engine.invalid:10086").claim(request));
    expect(error.failure).toBe("unreachable");
  });

  test("that is given up before anything was sent is unreachable", async () => {
    const { engine, server } = await engineThat((_, response) => sendJson(response, 200, grant));
    const error = await errorOf(engine.claim(request, { signal: AbortSignal.abort("enough") }));
    expect(error).toMatchObject({ failure: "unreachable", detail: "stopped by the caller (enough)" });
    expect(server.received).toEqual([]);
  });

  test("answered by a page for humans is unclear and points at engineUrl", async () => {
    const { engine, server } = await engineThat(page);
    const error = await errorOf(engine.claim(request));
    expect(error).toMatchObject({ failure: "unclear", status: 200 });
    expect(error.detail).toBe(
      `expected the engine's JSON, found text/html: "<!doctype html><h1>Welcome</h1>"; check engineUrl (${server.url})`,
    );
  });

  test("answered by a proxy's error page is unclear and says so", async () => {
    const { engine } = await engineThat((_, response) => sendText(response, 502, "<html>bad gateway</html>"));
    const error = await errorOf(engine.claim(request));
    expect(error).toMatchObject({ failure: "unclear", status: 502 });
    expect(error.detail).toContain("expected the engine's JSON");
  });

  test("answered with a redirect is unclear and names the place", async () => {
    const { engine } = await engineThat((_, response) =>
      response.writeHead(307, { location: "https://there/" }).end(),
    );
    const error = await errorOf(engine.claim(request));
    expect(error).toMatchObject({ failure: "unclear", status: 307 });
    expect(error.detail).toContain("found a redirect to https://there/; check engineUrl");
  });

  test("answered 422 is refused in the engine's own words", async () => {
    const detail = [{ loc: ["body", "reward"], msg: "Input should be a valid number" }];
    const { engine } = await engineThat((_, response) => sendJson(response, 422, { detail }));
    const error = await errorOf(engine.claim(request));
    expect(error).toMatchObject({ failure: "refused", status: 422, detail: JSON.stringify(detail) });
  });

  test("answered 500 is unclear", async () => {
    const { engine } = await engineThat((_, response) => sendText(response, 500, "Internal Server Error"));
    const error = await errorOf(engine.claim(request));
    expect(error).toMatchObject({ failure: "unclear", status: 500, detail: "Internal Server Error" });
  });

  test("that is not answered in time is unclear", async () => {
    const { engine } = await engineThat(() => {}, { timeouts: { claim_episode: 300 } });
    const error = await errorOf(engine.claim(request));
    expect(error).toMatchObject({ failure: "unclear", status: undefined, detail: "no answer within 0.3 s" });
  });

  test("is unclear when the answer begins and never ends", async () => {
    const { engine } = await engineThat((_, response) => response.writeHead(200).write('{"success":'));
    expect((await errorOf(engine.claim(request, { timeoutMs: 300 }))).failure).toBe("unclear");
  });

  test("stopped by the caller while it waits is unclear", async () => {
    const stop = new AbortController();
    const { engine } = await engineThat(() => stop.abort("deadline"));
    const error = await errorOf(engine.claim(request, { signal: stop.signal }));
    expect(error).toMatchObject({ failure: "unclear", detail: "stopped by the caller (deadline)" });
  });

  test("is unclear when the connection breaks before the answer", async () => {
    const { engine, server } = await engineThat(({ socket }) => socket.destroy());
    expect((await errorOf(engine.claim(request))).failure).toBe("unclear");
    // Never blindly a second time.
    expect(server.received).toHaveLength(1);
  });

  test("is unclear when the connection breaks within the answer", async () => {
    const { engine } = await engineThat(({ socket }, response) => {
      response.writeHead(200, { "content-length": 100 });
      response.write('{"success":', () => socket.destroy());
    });
    expect((await errorOf(engine.claim(request))).failure).toBe("unclear");
  });

  test("granted without an episode is unclear, since it cannot be used", async () => {
    const { engine } = await engineThat((_, response) =>
      sendJson(response, 200, { ...grant, episode_uuid: "" }),
    );
    const error = await errorOf(engine.claim(request));
    expect(error.failure).toBe("unclear");
    expect(error.detail).toContain("found one of them empty");
  });

  test.each(["http:///other/v1", "https:other", "ftp://x/v1", "http://u:p@inside/v1"])(
    "granted at %s is unclear, since no prompt goes there",
    async (openai_base_url) => {
      const { engine } = await engineThat((_, response) =>
        sendJson(response, 200, { ...grant, openai_base_url }),
      );
      const error = await errorOf(engine.claim(request));
      expect(error.failure).toBe("unclear");
      expect(error.detail).toContain("expected openai_base_url to be an http address");
      expect(error.detail).not.toContain("u:p");
    },
  );

  test("with unknown fields and an unknown fail cause in its answer is understood", async () => {
    const answer = {
      ...grant,
      success: false,
      episode_uuid: "",
      fail_cause: "moon in the wrong phase",
      moon: 3,
    };
    const { engine } = await engineThat((_, response) => sendJson(response, 200, answer));
    expect(await engine.claim(request)).toMatchObject({
      success: false,
      fail_cause: "moon in the wrong phase",
    });
  });
});

test("no message holds an api key, and quoted text is bounded", async () => {
  const text = `Bearer abcdef123 ${grant.openai_api_key} ${"x".repeat(5000)}`;
  const { engine } = await engineThat((_, response) => sendText(response, 500, text));
  const error = await errorOf(engine.claim(request));
  expect(error.message).toMatch(/Bearer \*\*\* sk-\*\*\* x+…$/);
  expect(error.detail).toHaveLength(301);
});

test("an answer without end is not read to the end", async () => {
  const megabyte = "x".repeat(1024 * 1024);
  const { engine } = await engineThat((_, response) => {
    const more = () => {
      while (!response.destroyed && response.write(megabyte)) {}
    };
    response.on("drain", more);
    more();
  });
  const error = await errorOf(engine.buffer());
  expect(error).toMatchObject({ failure: "unclear" });
  expect(error.detail).toContain("expected an answer of at most 67108864 bytes, found more");
});
