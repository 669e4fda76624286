/** Files as people have them, read by name and by content. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { brotliCompressSync, gzipSync, zstdCompressSync } from "node:zlib";
import { parquetWriteBuffer } from "hyparquet-writer";
import { afterAll, expect, test } from "vitest";
import { WrittenNumber } from "../../../cli/push/json.ts";
import type { InputRecord } from "../../../cli/push/record.ts";
import { readRecords } from "../../../cli/push/records.ts";
import { sourcesOf } from "../../../cli/push/sources.ts";

const folder = mkdtempSync(join(tmpdir(), "sortie-files-"));
afterAll(() => rmSync(folder, { recursive: true }));

async function read(name: string, bytes: Uint8Array): Promise<InputRecord[]> {
  const path = join(folder, name);
  writeFileSync(path, bytes);
  return await recordsOf(path);
}

async function recordsOf(path: string, input: Uint8Array[] = []): Promise<InputRecord[]> {
  const [source] = await sourcesOf([path], undefined, { input: Readable.from(input) });
  const records: InputRecord[] = [];
  if (source) for await (const record of readRecords(source)) records.push(record);
  return records;
}

const line = Buffer.from('{"a":1}\n{"a":2}\n');
const both = [
  { line: 1, fields: { a: 1 } },
  { line: 2, fields: { a: 2 } },
];

test.each<[string, Uint8Array]>([
  ["a.jsonl.gz", gzipSync(line)],
  ["two-members.gz", Buffer.concat([gzipSync(line.subarray(0, 8)), gzipSync(line.subarray(8))])],
  ["a.jsonl.zst", zstdCompressSync(line)],
  ["packed-without-a-word.jsonl", gzipSync(line)],
])("%s is unpacked", async (name, bytes) => {
  expect(await read(name, bytes)).toEqual(both);
});

test("CSV in gzip is CSV by its name", async () => {
  expect(await read("a.csv.gz", gzipSync("a,b\n1,2\n"))).toEqual([{ line: 2, fields: { a: "1", b: "2" } }]);
});

test("standard input is unpacked too, in whatever pieces it comes", async () => {
  const packed = gzipSync(line);
  const bytes = Array.from(packed, (byte) => Uint8Array.of(byte));
  expect(await recordsOf("-", bytes)).toEqual(both);
});

test.each<[string, Uint8Array, string]>([
  [
    "cut.gz",
    gzipSync(line).subarray(0, 20),
    "cut.gz: expected gzip to its end, found unexpected end of file: is the file whole?",
  ],
  [
    "tasks.zip",
    Buffer.from("PK\u0003\u0004xxxxxxxx"),
    "tasks.zip: expected tasks, found a zip archive: unpack it first",
  ],
  ["tasks.bz2", Buffer.from("BZh91AY&SY"), "tasks.bz2: expected tasks, found bzip2: unpack it first"],
  [
    "bad.parquet",
    Buffer.from("PAR1xxxxxxxxxxxxPAR1"),
    "bad.parquet: expected Parquet, found a fault in it: ",
  ],
  [
    "text.parquet",
    Buffer.from("{}"),
    'text.parquet: expected Parquet, found a text that begins with "{": give --format',
  ],
])("%s is refused as a whole", async (name, bytes, message) => {
  await expect(read(name, bytes)).rejects.toThrow(message);
});

const columns = [
  { name: "question", data: ["6 × 7?", "1+1?", "2+2?"] },
  { name: "answer", data: ["42", null, "4"] },
  { name: "id", data: [1n, 9007199254740993n, 3n] },
  { name: "tests", data: [["a", "b"], [], ["c"]], type: "JSON" as const },
];
const rows = [
  { line: 1, fields: { question: "6 × 7?", answer: "42", id: 1, tests: ["a", "b"] } },
  {
    line: 2,
    fields: { question: "1+1?", answer: null, id: new WrittenNumber("9007199254740993"), tests: [] },
  },
  { line: 3, fields: { question: "2+2?", answer: "4", id: 3, tests: ["c"] } },
];

test.each([undefined, 2])("Parquet: rows with their types, in groups of %s", async (rowGroupSize) => {
  const bytes = parquetWriteBuffer({ columnData: columns, ...(rowGroupSize ? { rowGroupSize } : {}) });
  expect(await read("a.parquet", new Uint8Array(bytes))).toEqual(rows);
  expect(await read("a.parquet.gz", gzipSync(new Uint8Array(bytes)))).toEqual(rows);
  expect(await recordsOf("-", [new Uint8Array(bytes)])).toEqual(rows);
});

test.each<["GZIP" | "ZSTD" | "BROTLI", (bytes: Uint8Array) => Uint8Array]>([
  ["GZIP", (bytes) => gzipSync(bytes)],
  ["ZSTD", (bytes) => zstdCompressSync(bytes)],
  ["BROTLI", (bytes) => brotliCompressSync(bytes)],
])("Parquet with pages in %s", async (codec, compress) => {
  const bytes = parquetWriteBuffer({
    columnData: [{ name: "a", data: [1, 2] }],
    codec,
    compressors: { [codec]: compress },
  });
  expect(await read(`${codec}.parquet`, new Uint8Array(bytes))).toEqual(both);
});
