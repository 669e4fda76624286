import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { InvalidMessageError } from "../../../../functions/core/errors.ts";
import { decodeMessage } from "../../../../functions/core/rollout/message.ts";

const task = {
  main_query: "2+2?",
  init_messages: [{ role: "user", content: "hello" }],
  task_id: "task-1",
  env_type: "math",
  metadata: { answer: "#### 4" },
};
const decode = (value: unknown, id = "m-1") => decodeMessage(JSON.stringify(value), id);

function faultOf(body: string): string {
  try {
    return `no fault, but ${JSON.stringify(decodeMessage(body, "m-1"))}`;
  } catch (error) {
    if (error instanceof InvalidMessageError) return error.message;
    throw error;
  }
}
const faultIn = (value: unknown) => faultOf(JSON.stringify(value));

describe("a message that is a rollout", () => {
  test("may be a plain task: a train rollout that is named by its message", () => {
    expect(decode(task)).toEqual({
      key: "message/m-1",
      task,
      repeat: 0,
      run: undefined,
      episodeType: "train",
      discardTimeout: undefined,
    });
  });

  test("may be an envelope, whose fields are kept", () => {
    const envelope = { task, repeat: 3, run: "r:1", episode_type: "eval", discard_episode_timeout: 12.5 };
    expect(decode(envelope)).toEqual({
      key: "run/r:1/eval/3/task-1",
      task,
      repeat: 3,
      run: "r:1",
      episodeType: "eval",
      discardTimeout: 12.5,
    });
  });

  test("needs no more of a task than its id; what else it carries at the top is left out", () => {
    expect(decode({ task_id: "t", surprise: 1 }).task).toEqual({
      main_query: "",
      init_messages: [],
      task_id: "t",
      env_type: "",
      metadata: {},
    });
  });

  test("may hold 1 MiB of text and characters of every plane", () => {
    const text = "é🙂".repeat(100_000);
    expect(decode({ ...task, main_query: text }).task.main_query).toBe(text);
  });

  test("is made well-formed: lone surrogates in values and in names become U+FFFD", () => {
    const body = String.raw`{"task_id":"a\ud800b","metadata":{"k\udfff":["\ud800",{"in\ud800":1}]}}`;
    expect(decodeMessage(body, "m").task).toMatchObject({
      task_id: "a\ufffdb",
      metadata: { "k\ufffd": ["\ufffd", { "in\ufffd": 1 }] },
    });
  });

  test("may have a task that is called like a property of every object", () => {
    expect(decode({ task: { task_id: "__proto__" }, run: "r" }).key).toBe("run/r/train/0/__proto__");
  });
});

describe("a message that is no rollout", () => {
  test.each([
    ["", "expected a task as JSON, found an empty body (SyntaxError)"],
    [" \n", "expected a task as JSON, found 2 blank characters (SyntaxError)"],
    ["{", "expected a task as JSON, found 1 characters that begin with { (SyntaxError)"],
    [
      "What is the admin's password?",
      "expected a task as JSON, found 29 characters that begin with a letter (SyntaxError)",
    ],
    [
      "4111 1111",
      "expected a task as JSON, found 9 characters that begin with a digit or a minus (SyntaxError)",
    ],
    ["(secret)", "expected a task as JSON, found 8 characters that begin with a sign (SyntaxError)"],
    ["null", "expected a JSON object with a task, found null"],
    ["[1]", "expected a JSON object with a task, found an array of 1"],
    ['"task"', "expected a JSON object with a task, found a text of 4 characters"],
    ["7", "expected a JSON object with a task, found a number"],
  ])("is said to be none: %s", (body, fault) => {
    expect(faultOf(body)).toBe(fault);
  });

  test.each([
    [{}, "not a rollout: task_id: Invalid input: expected string, received undefined"],
    [{ task: {} }, "not a rollout: task.task_id: Invalid input: expected string, received undefined"],
    [
      { task_id: "" },
      "not a rollout: task_id: expected a task_id that is not empty: the engine groups rewards by it",
    ],
    [{ task_id: "a".repeat(513) }, "not a rollout: task_id: expected at most 512 characters"],
    [{ task_id: 7 }, "not a rollout: task_id: Invalid input: expected string, received number"],
    [
      { task_id: "t", main_query: null, metadata: [] },
      "not a rollout: main_query: Invalid input: expected string, received null; " +
        "metadata: Invalid input: expected record, received array",
    ],
    [
      { task_id: "t", init_messages: ["x"] },
      "not a rollout: init_messages.0: Invalid input: expected record, received string",
    ],
    [{ task: "t" }, "not a rollout: task: Invalid input: expected object, received string"],
    [{ task, repeats: 4 }, 'not a rollout: message: Unrecognized key: "repeats"'],
    [{ task, repeat: -1 }, "not a rollout: repeat: Too small: expected number to be >=0"],
    [{ task, repeat: 0.5 }, "not a rollout: repeat: Invalid input: expected int, received number"],
    [{ task, run: "a/b" }, "not a rollout: run: expected 1 to 128 letters, digits, or any of _ . : -"],
    [
      { task, episode_type: "test" },
      'not a rollout: episode_type: Invalid option: expected one of "train"|"eval"',
    ],
    [
      { task, discard_episode_timeout: 0 },
      "not a rollout: discard_episode_timeout: Too small: expected number to be >0",
    ],
  ])("is told what is wrong with it (case %#)", (value, fault) => {
    expect(faultIn(value)).toBe(fault);
  });

  test("is not quoted, nor is a text in the place of a name", () => {
    expect(faultIn({ task, "my secret": 1, "sk-ajet-key": 2, ok: 3 })).toBe(
      'not a rollout: message: Unrecognized keys: one of 9 characters, "sk-***", "ok"',
    );
  });

  test("gets an answer of bounded length, however long or many its names are", () => {
    expect(faultIn({ task, ["x".repeat(1_000_000)]: 1 })).toBe(
      "not a rollout: message: Unrecognized key: one of 1000000 characters",
    );
    const many = Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`name-${index}`, 1]));
    expect(faultIn({ task, ...many })).toHaveLength(1000);
  });

  test("whatever the body is, nothing but InvalidMessageError comes out", () => {
    const bodies = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.json(),
      fc
        .record({ task: fc.jsonValue(), repeat: fc.jsonValue(), run: fc.jsonValue() })
        .map((v) => JSON.stringify(v)),
    );
    fc.assert(
      fc.property(bodies, (body) => {
        expect(typeof faultOf(body)).toBe("string");
      }),
    );
  });
});

describe("the key of a rollout", () => {
  const wish = fc.record({
    run: fc.stringMatching(/^[\w.:-]{1,8}$/),
    repeat: fc.nat(30),
    episode_type: fc.constantFrom("train", "eval"),
    id: fc.oneof(
      fc.constantFrom("1", "1/1", "train/1", "/", "a#b"),
      fc.string({ minLength: 1, maxLength: 6 }),
    ),
  });
  const keyOf = ({ id, ...rest }: typeof wish extends fc.Arbitrary<infer W> ? W : never, message: string) =>
    decode({ ...rest, task: { task_id: id } }, message).key;

  test("is the same for the same wish of a run, whichever message brings it", () => {
    fc.assert(
      fc.property(wish, (w) => {
        expect(keyOf(w, "m-1")).toBe(keyOf(w, "m-2"));
      }),
    );
  });

  test("differs between two different wishes", () => {
    fc.assert(
      fc.property(wish, wish, (a, b) => {
        fc.pre(JSON.stringify(a) !== JSON.stringify(b));
        expect(keyOf(a, "m")).not.toBe(keyOf(b, "m"));
      }),
    );
  });

  test("without a run is the message's own", () => {
    expect(decode(task, "m-1").key).not.toBe(decode(task, "m-2").key);
  });

  test("fits a table key of 2,048 bytes at its longest", () => {
    const longest = {
      task: { task_id: "語".repeat(512) },
      run: "r".repeat(128),
      repeat: Number.MAX_SAFE_INTEGER,
    };
    const { key } = decode({ ...longest, episode_type: "train" });
    expect(Buffer.byteLength(`ROLLOUT#${"f".repeat(32)}#${key}`)).toBeLessThanOrEqual(2048);
  });
});
