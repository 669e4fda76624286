import { describe, expect, test } from "vitest";
import { noteRequest, watchModelCalls } from "../../../../functions/adapters/engine/model-calls.ts";

const path = "/v1/chat/completions";

describe("model calls of an attempt", () => {
  test.each([
    ["an object", { Authorization: "Bearer sk-a" }],
    ["a flat list", ["accept", "*/*", "authorization", "Bearer sk-a"]],
    ["pairs", new Headers({ authorization: "Bearer sk-a" })],
  ])("are counted whichever way a library gives its headers: %s", (_name, headers) => {
    const seen = watchModelCalls("sk-a", new AbortController().signal);
    expect([seen.calls(), seen.lastCallAt()]).toEqual([0, undefined]);
    noteRequest(path, headers, 5);
    noteRequest(path, headers, 9);
    expect([seen.calls(), seen.lastCallAt()]).toEqual([2, 9]);
  });

  test("are told apart by the episode's key, and from other requests", () => {
    const a = watchModelCalls("sk-a", new AbortController().signal);
    const b = watchModelCalls("sk-b", new AbortController().signal);
    noteRequest(path, { authorization: "Bearer sk-b" }, 1);
    noteRequest("/end_episode", { authorization: "Bearer sk-a" }, 1);
    noteRequest(path, null, 1);
    expect([a.calls(), b.calls()]).toEqual([0, 1]);
  });

  test("do not go out after the attempt's signal has fired", () => {
    const attempt = new AbortController();
    const seen = watchModelCalls("sk-a", attempt.signal);
    attempt.abort(new Error("over"));
    expect(() => noteRequest(path, { authorization: "Bearer sk-a" }, 1)).toThrow("over");
    expect(seen.calls()).toBe(0);
  });

  test("on a re-issued episode belong to the newer attempt, which has the same key", () => {
    const older = new AbortController();
    watchModelCalls("sk-a", older.signal);
    const newer = watchModelCalls("sk-a", new AbortController().signal);
    older.abort();
    noteRequest(path, { authorization: "Bearer sk-a" }, 3);
    expect(newer.calls()).toBe(1);
  });

  test.each([
    "/v1/chat/completions",
    "/gw/v1/completions",
    "/v1/responses",
    "/v1/messages?beta=true",
    "/v1/embeddings",
    "/v1/chat/completions/",
  ])("are seen and stopped on %s, with the key as either header", (route) => {
    const attempt = new AbortController();
    const seen = watchModelCalls("sk-a", attempt.signal);
    noteRequest(route, { authorization: "Bearer sk-a" }, 1);
    noteRequest(route, ["X-Api-Key", "sk-a"], 2);
    noteRequest(route, [["x-api-key", "sk-b"]], 3);
    expect([seen.calls(), seen.lastCallAt()]).toEqual([2, 2]);
    attempt.abort(new Error("over"));
    for (const headers of [{ authorization: "Bearer sk-a" }, new Headers({ "x-api-key": "sk-a" })])
      expect(() => noteRequest(route, headers, 4)).toThrow("over");
  });

  test("are those that make the model work; nothing else goes out after the signal either", () => {
    const attempt = new AbortController();
    const seen = watchModelCalls("sk-a", attempt.signal);
    const headers = { "x-api-key": "sk-a" };
    noteRequest("/v1/messages/count_tokens", headers, 1);
    noteRequest("/v1/responses", headers, 1, "GET");
    noteRequest("/v1/models", headers, 1, "GET");
    expect(seen.calls()).toBe(0);
    attempt.abort(new Error("over"));
    expect(() => noteRequest("/v1/models", headers, 1, "GET")).toThrow("over");
  });

  test("tell of the last outage between them and the model, until one gets through", () => {
    const seen = watchModelCalls("sk-a", new AbortController().signal);
    const call = () => noteRequest(path, { authorization: "Bearer sk-a" }, 1);
    expect(seen.outage()).toBeUndefined();
    call()?.answered(502, "text/html");
    expect(seen.outage()).toBe("HTTP 502 of text/html");
    call()?.answered(200, "application/json");
    expect(seen.outage()).toBeUndefined();
    call()?.failed(new Error("reset"));
    expect(seen.outage()).toBe("no answer (Error)");
    call()?.answered(500, "text/plain");
    expect(seen.outage()).toBeUndefined();
    call()?.failed(new DOMException("the agent's own limit", "TimeoutError"));
    expect(seen.outage()).toBeUndefined();
  });
});
