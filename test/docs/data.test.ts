/**
 * `docs/data.md` is what the command prints for each file, so it cannot be out of date. After a change of words:
 * `npx vitest run test/docs/data.test.ts -u`.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, expect, test } from "vitest";
import { sortie } from "../cli/here.ts";

const folder = mkdtempSync(join(tmpdir(), "sortie-data-"));
afterAll(() => rmSync(folder, { recursive: true }));

interface Case {
  readonly title: string;
  readonly file: string;
  readonly bytes: string | Uint8Array;
  /** How the page shows the file; undefined: its text. */
  readonly shown?: string;
  readonly options?: readonly string[];
}

const gsm8k = Array.from({ length: 7473 }, (_, index) =>
  JSON.stringify({ question: `${index}?`, answer: "42" }),
);
const humanEval = { task_id: "HumanEval/0", prompt: "def f():", test: "assert f()", entry_point: "f" };
const mbpp = { task_id: 2, text: "Write a function.", code: "def g(): …", test_list: ["assert g()"] };
const math = { problem: "1 + 1?", level: "Level 1", type: "Algebra", solution: "2" };
const latin1 = (text: string) => Buffer.from(text, "latin1");
const task = (fields: string) => `{"task_id":"a","main_query":"1+1?",${fields}}\n`;

const columns: Case[] = [
  {
    title: "GSM8K",
    file: "gsm8k.jsonl",
    bytes: `${gsm8k.join("\n")}\n`,
    shown: `${gsm8k[0]}\n… 7,473 lines`,
  },
  { title: "MATH", file: "math.jsonl", bytes: `${JSON.stringify(math)}\n` },
  { title: "HumanEval", file: "humaneval.jsonl", bytes: `${JSON.stringify(humanEval)}\n` },
  { title: "MBPP", file: "mbpp.jsonl", bytes: `${JSON.stringify(mbpp)}\n` },
  {
    title: "MBPP, as proposed",
    file: "mbpp.jsonl",
    bytes: `${JSON.stringify(mbpp)}\n`,
    options: ["--map", "task_id=task_id,main_query=text,metadata.code=code,metadata.test_list=test_list"],
  },
];
const tasks: Case[] = [
  { title: "No question", file: "empty.jsonl", bytes: '{"task_id":"a","main_query":""}\n' },
  {
    title: "No question, insisted on",
    file: "empty.jsonl",
    bytes: '{"task_id":"a","main_query":""}\n',
    options: ["--allow-empty-query"],
  },
  {
    title: "One id twice",
    file: "twice.jsonl",
    bytes: '{"task_id":"a","main_query":"1"}\n{"task_id":"a","main_query":"2"}\n',
  },
  { title: "`null` in an exported column is absent", file: "nulls.jsonl", bytes: task('"env_type":null') },
  { title: "`null` as the id", file: "null-id.jsonl", bytes: '{"task_id":null,"main_query":"1+1?"}\n' },
  {
    title: "An envelope",
    file: "envelope.jsonl",
    bytes: '{"task":{"task_id":"a","main_query":"?"},"repeat":3}\n',
  },
];
const numbers: Case[] = [
  { title: "An integer over 2^53", file: "big.jsonl", bytes: task('"metadata":{"n":9007199254740993}') },
  { title: "A number beyond every float", file: "huge.jsonl", bytes: task('"metadata":{"n":1e400}') },
  { title: "NaN, which Python writes", file: "nan.jsonl", bytes: task('"metadata":{"n":NaN}') },
  {
    title: "A large id is kept to its last digit",
    file: "ids.jsonl",
    bytes: '{"id":9007199254740993,"q":"1+1?"}\n{"id":9007199254740992,"q":"1+2?"}\n',
    options: ["--map", "task_id=id,main_query=q"],
  },
  {
    title: "Thousands of brackets",
    file: "deep.jsonl",
    bytes: task(`"metadata":{"a":${"[".repeat(5000)}${"]".repeat(5000)}}`),
    shown: task('"metadata":{"a":[[[[… 5,000 …]]]]}').trim(),
  },
];
const encodings: Case[] = [
  {
    title: "Windows-1252",
    file: "cp1252.csv",
    bytes: latin1("task_id,main_query\na,caf\u00e9?\nb,tea?\n"),
    shown: "task_id,main_query\na,caf\\xE9?\nb,tea?",
  },
  {
    title: "UTF-16, as Excel writes it",
    file: "utf16.csv",
    bytes: Buffer.from("\ufefftask_id,main_query\na,1+1?\n", "utf16le"),
    shown: "\\xFF\\xFEt\\x00a\\x00s\\x00k\\x00…",
  },
  { title: "A column twice", file: "column.csv", bytes: "task_id,main_query,main_query\na,1+1?,2+2?\n" },
  { title: "A row too short", file: "short.csv", bytes: "task_id,main_query\na\n" },
  {
    title: "Half of a download",
    file: "half.jsonl.gz",
    bytes: gzipSync(task('"env_type":"x"').repeat(50)).subarray(0, 60),
    shown: "\\x1F\\x8B… (60 bytes)",
  },
  { title: "An archive", file: "tasks.zip", bytes: "PK\u0003\u0004……", shown: "PK\\x03\\x04…" },
  { title: "No JSON", file: "bad.jsonl", bytes: '{"task_id":"a","main_query":"1+1?"\n' },
];

async function example({ title, file, bytes, shown, options = [] }: Case): Promise<string> {
  const path = join(folder, file);
  writeFileSync(path, bytes);
  const { out, err, code } = await sortie(["push", path, "--dry-run", ...options]);
  const input = shown ?? String(bytes).trimEnd();
  const command = `sortie push ${file} --dry-run${options.map((part) => ` ${part}`).join("")}`;
  return `### ${title}\n\n\`\`\`text\n${input}\n\`\`\`\n\n\`\`\`console\n$ ${command}\n${err}${out}[exit code ${code}]\n\`\`\`\n`;
}

async function section(heading: string, cases: readonly Case[]): Promise<string> {
  const examples: string[] = [];
  for (const one of cases) examples.push(await example(one));
  return `## ${heading}\n\n${examples.join("\n")}`;
}

const introduction = `# Files of tasks, and what is said of faulty ones

\`sortie push\` and \`npm start -- --tasks\` read the same files: JSONL, a JSON array, CSV with a header, or Parquet, each also
packed as \`.gz\` or \`.zst\`, with \`--map\` where the columns have names of their own. Every record is checked before the first is
pushed. Below, each fault with its input and what is printed. The page is made by \`test/docs/data.test.ts\`, which runs
these commands.
`;

test("docs/data.md shows what is printed for each fault", async () => {
  const sections = [
    await section("Columns of well-known datasets", columns),
    await section("Tasks", tasks),
    await section("Numbers and nesting", numbers),
    await section("Encodings, CSV and packed files", encodings),
  ];
  await expect(`${introduction}\n${sections.join("\n")}`).toMatchFileSnapshot("../../docs/data.md");
});
