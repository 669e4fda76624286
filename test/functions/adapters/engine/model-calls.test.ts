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
});
