import { describe, expect, it } from "vitest";
import { judge } from "../../../local/event-source/batch-response.ts";

const ids = ["a", "b", "c"];

function succeeded(payload: unknown, partialResponses = true): string[] {
  return [...judge({ status: "success", requestId: "1", payload }, ids, partialResponses).succeeded];
}

describe("with partial responses", () => {
  it.each([
    ["null", null],
    ["an empty object", {}],
    ["an object of something else", { statusCode: 200 }],
    ["a null list", { batchItemFailures: null }],
    ["an empty list", { batchItemFailures: [] }],
  ])("%s means that the whole batch succeeded", (_, payload) => {
    expect(succeeded(payload)).toEqual(ids);
  });

  it("the named messages failed, the others succeeded", () => {
    expect(succeeded({ batchItemFailures: [{ itemIdentifier: "b" }] })).toEqual(["a", "c"]);
    expect(succeeded({ batchItemFailures: ids.map((itemIdentifier) => ({ itemIdentifier })) })).toEqual([]);
  });

  it("a message may be named twice", () => {
    const twice = [{ itemIdentifier: "b" }, { itemIdentifier: "b" }];
    expect(succeeded({ batchItemFailures: twice })).toEqual(["a", "c"]);
  });

  it.each([
    ["an empty identifier", { batchItemFailures: [{ itemIdentifier: "" }] }],
    ["a null identifier", { batchItemFailures: [{ itemIdentifier: null }] }],
    ["a misnamed identifier", { batchItemFailures: [{ itemIdentifer: "a" }] }],
    ["an unknown identifier", { batchItemFailures: [{ itemIdentifier: "a" }, { itemIdentifier: "z" }] }],
    ["a bare identifier", { batchItemFailures: ["a"] }],
    ["a null entry", { batchItemFailures: [null] }],
    ["a list that is none", { batchItemFailures: "a" }],
    ["a text", "done"],
    ["a list", []],
    ["a number", 1],
  ])("%s means that the whole batch failed", (_, payload) => {
    expect(succeeded(payload)).toEqual([]);
  });

  it("says which identifier made the whole batch fail", () => {
    const payload = { batchItemFailures: [{ itemIdentifier: "z" }] };
    expect(judge({ status: "success", requestId: "1", payload }, ids, true).fault).toBe(
      'itemIdentifier: expected a message id of the batch, found "z"',
    );
  });
});

it("without partial responses whatever a handler returns means success", () => {
  expect(succeeded({ batchItemFailures: [{ itemIdentifier: "b" }] }, false)).toEqual(ids);
  expect(succeeded("done", false)).toEqual(ids);
});

it.each([true, false])("an error means that the whole batch failed (partial responses: %s)", (partial) => {
  const error = { type: "Sandbox.Timedout", message: "Task timed out after 3.00 seconds", trace: [] };
  expect(judge({ status: "error", requestId: "1", error }, ids, partial)).toEqual({
    succeeded: new Set(),
    fault: "Sandbox.Timedout: Task timed out after 3.00 seconds",
  });
});
