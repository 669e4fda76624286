import { describe, expect, test } from "vitest";
import { firstOfTrace, TRACE_LENGTH, traceError } from "../../../functions/core/error-trace.ts";

const folder = "file:///var/task/";
const bundle = `${folder}index.mjs`;

function thrown(message: string, frames: readonly string[], cause?: unknown): Error {
  const error = new TypeError(message, cause === undefined ? {} : { cause });
  error.stack = [`TypeError: ${message}`, ...frames.map((frame) => `    at ${frame}`)].join("\n");
  return error;
}

describe("what an agent threw", () => {
  test("is told with the lines of its author's source, and of nobody else's", () => {
    const error = thrown("x is undefined", [
      "deep (file:///var/task/lib/grade.ts:4:44)",
      "file:///var/task/index.mjs:2:543",
      "Array.map (<anonymous>)",
      "<anonymous> (file:///var/task/agent.ts:2:6)",
      "zod (file:///var/task/node_modules/zod/v4/core.js:10:2)",
      "async agent (file:///home/ann/my-agent.ts:9:22)",
      "async performAgent (file:///var/task/node_modules/sortie/functions/core/rollout/perform-agent.ts:80:33)",
      "process.processTicksAndRejections (node:internal/process/task_queues:104:5)",
    ]);
    expect(traceError(error, { bundle })).toBe(
      "TypeError: x is undefined\n  at deep (lib/grade.ts:4:44)\n  at agent.ts:2:6\n  at async agent (/home/ann/my-agent.ts:9:22)",
    );
  });

  test("has its causes, three at most", () => {
    const chain = [1, 2, 3, 4].reduce<Error | undefined>(
      (cause, line) => thrown(`cause ${line}`, [`f (${folder}a.ts:${line}:1)`], cause),
      undefined,
    );
    const words = traceError(thrown("outermost", [`agent (${folder}a.ts:9:1)`], chain), { bundle });
    expect(words.split("\n").filter((line) => line.startsWith("caused by"))).toEqual([
      "caused by TypeError: cause 4",
      "caused by TypeError: cause 3",
      "caused by TypeError: cause 2",
    ]);
  });

  test("names a library's line where it never passed the author's", () => {
    const error = thrown("socket", [`onClose (${folder}node_modules/ws/lib/socket.js:7:1)`]);
    expect(traceError(error, { bundle })).toBe(
      "TypeError: socket\n  at onClose (node_modules/ws/lib/socket.js:7:1)",
    );
  });

  test("does not take lines of its message for frames, nor its message for its length", () => {
    const message = `${"x".repeat(5000)}\n    at fake (${folder}fake.ts:1:1)`;
    const words = traceError(thrown(message, [`agent (${folder}a.ts:1:2)`]), { bundle });
    expect(words).toContain("  at agent (a.ts:1:2)");
    expect(words).not.toContain("fake.ts");
    expect(words.length).toBeLessThanOrEqual(TRACE_LENGTH);
  });

  test("holds no key", () => {
    const words = traceError(thrown("got sk-ajet-abcdef1234", [], thrown("Bearer abc", [])), { bundle });
    expect(words).toBe("TypeError: got sk-***\ncaused by TypeError: Bearer ***");
  });

  test.each([
    ["text", "no tool", "no tool"],
    ["nothing", undefined, "undefined"],
    [
      "a trap",
      new Proxy(new Error("x"), {
        get: () => {
          throw new Error("trap");
        },
      }),
      "an error that cannot be put into words",
    ],
  ])("may be anything: %s", (_, error, words) => {
    expect(traceError(error, { bundle })).toBe(words);
  });

  test("ends where it is its own cause", () => {
    const error = thrown("round", []);
    error.cause = error;
    expect(traceError(error, { bundle }).split("\n")).toHaveLength(4);
  });
});

test("one line of it names the first place", () => {
  expect(firstOfTrace("Error: a\n  at agent (a.ts:1:2)\n  at b.ts:3:4")).toBe("Error: a (a.ts:1:2)");
  expect(firstOfTrace("Error: a\n  at async b.ts:3:4")).toBe("Error: a (async b.ts:3:4)");
  expect(firstOfTrace("Error: a")).toBe("Error: a");
});
