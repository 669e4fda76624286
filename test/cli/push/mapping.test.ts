import { describe, expect, test } from "vitest";
import { parseMap, taskOf } from "../../../cli/push/mapping.ts";

describe("without a mapping", () => {
  test("the record is the task", () => {
    expect(taskOf({ task_id: "a", main_query: "q" }, [])).toEqual({
      task_id: "a",
      main_query: "q",
      init_messages: [],
      env_type: "",
      metadata: {},
    });
  });

  test("an envelope with a task alone is taken", () => {
    expect(taskOf({ task: { task_id: "a", main_query: "q" } }, [])).toMatchObject({ task_id: "a" });
  });

  test("an envelope that says more is refused, since push would not keep it", () => {
    expect(() => taskOf({ task: { task_id: "a" }, repeat: 3, run: "x" }, [])).toThrow(
      "expected a task, found one in an envelope with repeat, run: take that off, and say it by an option",
    );
  });

  test.each([
    [{ main_query: "q" }, /^not a rollout: task_id: .*expected string, received undefined/],
    [{ task_id: "" }, /^not a rollout: task_id: expected a task_id that is not empty/],
    [{ task_id: 7 }, /^not a rollout: task_id: .*expected string, received number/],
    [{ task_id: "a", metadata: [] }, /^not a rollout: metadata: /],
  ])("%j is faulty as it would be in the queue", (record, message) => {
    expect(() => taskOf(record, [])).toThrow(message);
  });
});

describe("with a mapping", () => {
  const gsm8k = parseMap("main_query=question,metadata.answer=answer");

  test("the dataset's fields become the task's, and a content makes an id that stays", () => {
    const task = taskOf({ question: "6 × 7?", answer: "#### 42" }, gsm8k);
    expect(task).toMatchObject({ main_query: "6 × 7?", metadata: { answer: "#### 42" } });
    expect(task.task_id).toMatch(/^[0-9a-f]{16}$/);
    expect(taskOf({ answer: "#### 42", question: "6 × 7?", more: 1 }, gsm8k).task_id).toBe(task.task_id);
    expect(taskOf({ question: "6 × 8?", answer: "#### 42" }, gsm8k).task_id).not.toBe(task.task_id);
  });

  test("the record's own task_id stays, and a number becomes text where it is mapped", () => {
    expect(taskOf({ task_id: "own", question: "q", answer: 1 }, gsm8k).task_id).toBe("own");
    const numbered = parseMap("task_id=index", gsm8k);
    expect(taskOf({ index: 17, question: "q", answer: 1 }, numbered).task_id).toBe("17");
  });

  test("fields within fields are reached both ways, and beside the record's own metadata", () => {
    const mapping = parseMap("task_id=extra.id,metadata.a.b=extra.level,metadata.c=x.y");
    const record = {
      main_query: "q",
      extra: { id: "t", level: 3 },
      "x.y": "literal",
      metadata: { kept: true, a: { z: 1 } },
    };
    expect(taskOf(record, mapping)).toMatchObject({
      task_id: "t",
      metadata: { kept: true, a: { z: 1, b: 3 }, c: "literal" },
    });
  });

  test("messages may be JSON in a text", () => {
    const mapping = parseMap("task_id=id,init_messages=prompt");
    const prompt = JSON.stringify([{ role: "user", content: "hi" }]);
    expect(taskOf({ id: "a", prompt }, mapping).init_messages).toEqual([{ role: "user", content: "hi" }]);
  });

  test("a record without the field is faulty", () => {
    expect(() => taskOf({ question: "q", answer: null }, gsm8k)).toThrow(
      "expected answer for metadata.answer, found none",
    );
  });

  test("a name such as __proto__ is a name like any other", () => {
    const task = taskOf(
      { id: "a", main_query: "q", x: { polluted: true } },
      parseMap("task_id=id,metadata.__proto__=x"),
    );
    expect(Object.hasOwn(task.metadata, "polluted")).toBe(false);
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });
});

test.each(["question", "main_query=", "=question", "query=question", "metadata.=x"])(
  "the mapping %j is refused",
  (text) => {
    expect(() => parseMap(text)).toThrow(/^Expected <field of the task>=<field of the record>, found/);
  },
);
