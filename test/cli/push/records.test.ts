import { Readable } from "node:stream";
import { expect, test } from "vitest";
import { LONGEST_LINE } from "../../../cli/push/lines.ts";
import type { InputRecord } from "../../../cli/push/record.ts";
import { type Format, readRecords } from "../../../cli/push/records.ts";

/** In chunks of three bytes, so that characters, quotes and lines are cut apart. */
async function read(text: string | Uint8Array, format?: Format, chunkBytes = 3): Promise<InputRecord[]> {
  const bytes = typeof text === "string" ? Buffer.from(text) : text;
  const chunks = Array.from({ length: Math.ceil(bytes.length / chunkBytes) }, (_, index) =>
    bytes.subarray(index * chunkBytes, (index + 1) * chunkBytes),
  );
  const source = { name: "in", path: undefined, format, open: () => Readable.from(chunks) };
  const records: InputRecord[] = [];
  for await (const record of readRecords(source)) records.push(record);
  // The CSV reader tells of faults ahead of the rows before them.
  return records.sort((a, b) => a.line - b.line);
}

test("JSONL: each line a record, empty ones passed over, faulty ones named", async () => {
  const text = '\ufeff{"a":"ä🙂"}\r\n\n  \n[1]\n{"b":\n"text"\n{"c":1}';
  expect(await read(text)).toEqual([
    { line: 1, fields: { a: "ä🙂" } },
    { line: 4, fault: 'expected a JSON object with a task, found "[1]"' },
    { line: 5, fault: 'expected a task as JSON, found "{\\"b\\":"' },
    { line: 6, fault: 'expected a JSON object with a task, found "\\"text\\""' },
    { line: 7, fields: { c: 1 } },
  ]);
});

test("JSONL: a line separator inside of a text ends no line", async () => {
  expect(await read('{"a":"x\u2028y"}\n{"a":1}')).toEqual([
    { line: 1, fields: { a: "x\u2028y" } },
    { line: 2, fields: { a: 1 } },
  ]);
});

test("JSONL: a line that no message can hold is named, and the next one read", async () => {
  const text = `{"a":"${"x".repeat(LONGEST_LINE)}"}\n{"b":1}`;
  expect(await read(text, "jsonl", 65_536)).toEqual([
    { line: 1, fault: `expected at most ${LONGEST_LINE} characters, found more` },
    { line: 2, fields: { b: 1 } },
  ]);
});

test("a JSON array: elements over several lines, with brackets and commas in texts", async () => {
  const text = '\n [\n {"a": "]},[\\"" ,\n "b": [1, {"c": 2}]},\n\n{"d": 3}\n]\n';
  expect(await read(text)).toEqual([
    { line: 3, fields: { a: ']},["', b: [1, { c: 2 }] } },
    { line: 6, fields: { d: 3 } },
  ]);
});

test("a JSON array: an empty one has no records", async () => {
  expect(await read(" [ ] ")).toEqual([]);
});

test.each<[string, string, string]>([
  ["an element that is no object", '[{"a":1},2]', 'expected a JSON object with a task, found "2"'],
  ["a missing element", '[{"a":1},,{"b":1}]', 'expected a task as JSON, found ""'],
  ["no end", '[{"a":1},{"b":', 'expected a task as JSON, found "not one whole JSON array: {\\"b\\":"'],
  ["something after the end", '[{"a":1}] x', 'expected a task as JSON, found "not one whole JSON array: x"'],
])("a JSON array with %s is named as faulty", async (_, text, fault) => {
  expect(await read(text)).toContainEqual({ line: 1, fault });
});

test("CSV: a header, quotes, lines of several lines, JSON and metadata columns", async () => {
  const text =
    '\ufefftask_id,main_query,metadata.answer,init_messages\n1,"a, ""b""\nc",42,\n2,q,7,"[{""role"":""user""}]"\n';
  expect(await read(text, "csv")).toEqual([
    {
      line: 2,
      fields: { task_id: "1", main_query: 'a, "b"\nc', "metadata.answer": "42", metadata: { answer: "42" } },
    },
    {
      line: 4,
      fields: {
        task_id: "2",
        main_query: "q",
        "metadata.answer": "7",
        init_messages: [{ role: "user" }],
        metadata: { answer: "7" },
      },
    },
  ]);
});

test("CSV: rows of the wrong length are named, and the others read", async () => {
  expect(await read("a,b\r\n1,2\r\n3\r\n4,5\r\n6,7,8\r\n", "csv")).toEqual([
    { line: 2, fields: { a: "1", b: "2" } },
    { line: 3, fault: "expected 2 columns, found 1" },
    { line: 4, fields: { a: "4", b: "5" } },
    { line: 5, fault: "expected 2 columns, found 3" },
  ]);
});

test("CSV: a quote that does not end is a fault", async () => {
  const [first, fault] = await read('a,b\n1,2\n"x,3\n', "csv");
  expect(first).toEqual({ line: 2, fields: { a: "1", b: "2" } });
  expect(fault).toEqual({ line: 3, fault: expect.stringContaining("Quote Not Closed") });
});

test("nothing at all is no record", async () => {
  expect(await read("")).toEqual([]);
});

test("text of which nobody can tell the format asks for it", async () => {
  await expect(read("id,question\n")).rejects.toThrow(
    'in: expected JSONL, a JSON array, CSV or Parquet, found a text that begins with "i": give --format',
  );
});
