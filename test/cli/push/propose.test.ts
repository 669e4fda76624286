import { expect, test } from "vitest";
import { parseMap, taskOf } from "../../../cli/push/mapping.ts";
import { mapOption, proposedMap } from "../../../cli/push/propose.ts";
import type { Fields } from "../../../cli/push/record.ts";

const datasets: [string, Fields, string][] = [
  ["GSM8K", { question: "6 × 7?", answer: "#### 42" }, "main_query=question,metadata.answer=answer"],
  [
    "MATH",
    { problem: "1+1?", level: "Level 1", type: "Algebra", solution: "2" },
    "main_query=problem,metadata.level=level,metadata.type=type,metadata.solution=solution",
  ],
  [
    "MATH-500",
    { problem: "1+1?", solution: "2", answer: "2", subject: "Algebra", level: 1, unique_id: "test/1.json" },
    "task_id=unique_id,main_query=problem,metadata.solution=solution,metadata.answer=answer,metadata.subject=subject,metadata.level=level",
  ],
  [
    "HumanEval",
    { task_id: "HumanEval/0", prompt: "def f():", canonical_solution: "", test: "t", entry_point: "f" },
    "main_query=prompt,metadata.canonical_solution=canonical_solution,metadata.test=test,metadata.entry_point=entry_point",
  ],
  [
    "MBPP",
    { task_id: 2, text: "Write a function", code: "c", test_list: ["assert"], test_setup_code: "" },
    "task_id=task_id,main_query=text,metadata.code=code,metadata.test_list=test_list,metadata.test_setup_code=test_setup_code",
  ],
  [
    "conversations",
    { id: "c1", messages: [{ role: "user", content: "hi" }], source: null },
    "task_id=id,init_messages=messages",
  ],
  ["a task with one more column", { task_id: "a", main_query: "q", level: 3 }, "metadata.level=level"],
];

test.each(datasets)("%s: the proposal makes a task of the record", (_, record, expected) => {
  const mapping = proposedMap(record) ?? [];
  expect(mapOption(mapping)).toBe(`--map ${expected}`);
  expect(parseMap(expected)).toEqual(mapping);
  expect(taskOf(record, parseMap(expected)).task_id).not.toBe("");
  expect(() => taskOf(record, [])).toThrow(expect.objectContaining({ proposal: `--map ${expected}` }));
});

test("columns among which none is a question propose nothing", () => {
  expect(proposedMap({ a: 1, b: "x" })).toBeUndefined();
});

test("a name that a shell would take apart is quoted, and one that the option cannot say is left out", () => {
  expect(mapOption(proposedMap({ question: "q", "it's": 1, "a,b": 2, "c d": 3 }) ?? [])).toBe(
    "--map 'main_query=question,metadata.it'\\''s=it'\\''s'",
  );
});
