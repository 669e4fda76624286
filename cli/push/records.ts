/** The records of a file of tasks: JSONL, one JSON array, CSV or Parquet, packed or not; each with its line, faulty ones too. */
import { Readable } from "node:stream";
import { type CsvError, parse } from "csv-parse";
import { shorten } from "../../functions/core/errors.ts";
import { CommandFailure } from "../failures.ts";
import { type Chunks, Utf8Text, wideEncodingFault } from "./encoding.ts";
import { parseJson } from "./json.ts";
import { arrayElements } from "./json-array.ts";
import { LONGEST_LINE, type Numbered, numberedLines } from "./lines.ts";
import { parquetRecords } from "./parquet.ts";
import type { Fields, InputRecord } from "./record.ts";
import { isParquet, openUnpacked } from "./unpack.ts";

export const formats = ["jsonl", "json", "csv", "parquet"] as const;
export type Format = (typeof formats)[number];

export interface Source {
  readonly name: string;
  /** Undefined where it is a stream. */
  readonly path: string | undefined;
  /** Known from the file's name; else the first character tells. */
  readonly format: Format | undefined;
  open(): Chunks;
}

/** @throws CommandFailure where the format cannot be told, or the file cannot be unpacked */
export async function* readRecords(source: Source): AsyncGenerator<InputRecord> {
  const { head, chunks, packed } = await openUnpacked(source.name, source.open());
  if (isParquet(head)) {
    yield* parquetRecords({ name: source.name, path: packed ? undefined : source.path, chunks });
    return;
  }
  const wide = wideEncodingFault(head);
  if (wide === undefined) yield* textRecords(source, chunks);
  else yield { line: 1, fault: wide };
}

async function* textRecords(source: Source, chunks: Chunks): AsyncGenerator<InputRecord> {
  const encoding = new Utf8Text();
  const { first, texts } = await peek(encoding.read(chunks));
  const format = source.format ?? formatOf(first);
  if (!format || format === "parquet")
    throw new CommandFailure(
      `${source.name}: expected ${format === "parquet" ? "Parquet" : "JSONL, a JSON array, CSV or Parquet"}, found a text that ` +
        `begins with ${JSON.stringify(first)}: give --format`,
    );
  if (format === "csv") yield* csvRecords(texts, encoding);
  else yield* jsonRecords(format === "json" ? arrayElements(texts) : numberedLines(texts), encoding);
}

/** An array says so; anything else is read as lines, so that each faulty one is named. */
function formatOf(first: string): Format | undefined {
  if (first === "[") return "json";
  return first === "{" || first === "" ? "jsonl" : undefined;
}

/** The first character that is no white space, and all the text again. */
async function peek(texts: AsyncGenerator<string>): Promise<{ first: string; texts: AsyncIterable<string> }> {
  const seen: string[] = [];
  let first = "";
  while (first === "") {
    const next = await texts.next();
    if (next.done) break;
    seen.push(next.value);
    first = next.value.trimStart().slice(0, 1);
  }
  async function* again() {
    yield* seen;
    yield* texts;
  }
  return { first, texts: again() };
}

async function* jsonRecords(
  pieces: AsyncIterable<Numbered>,
  encoding: Utf8Text,
): AsyncGenerator<InputRecord> {
  for await (const { line, text } of pieces) {
    const fault = encoding.faultIn(line, text);
    yield fault === undefined ? { line, ...jsonFields(text) } : { line, fault };
  }
}

function jsonFields(text: string): { fields: Fields } | { fault: string } {
  if (text.length > LONGEST_LINE) return { fault: `expected at most ${LONGEST_LINE} characters, found more` };
  const parsed = parseJson(text);
  if ("fault" in parsed) return { fault: parsed.fault ?? `expected a task as JSON, found ${quote(text)}` };
  const { value } = parsed;
  if (typeof value === "object" && value !== null && !Array.isArray(value))
    return { fields: value as Fields };
  return { fault: `expected a JSON object with a task, found ${quote(text)}` };
}

function quote(text: string): string {
  const shown = JSON.stringify(shorten(text, 40));
  return text.length > 40 ? `${shown}… (${text.length} characters)` : shown;
}

interface CsvRow {
  readonly record: Record<string, string>;
  readonly raw: string;
  readonly info: { readonly lines: number };
}

async function* csvRecords(texts: AsyncIterable<string>, encoding: Utf8Text): AsyncGenerator<InputRecord> {
  const faults: InputRecord[] = [];
  const skipped = (error: CsvError | undefined): undefined => {
    if (error) faults.push({ line: Number(error["lines"] ?? 0), fault: csvFault(error) });
  };
  const parser = parse({
    columns: oneOfEach,
    bom: true,
    info: true,
    raw: true,
    skip_empty_lines: true,
    skip_records_with_error: true,
    max_record_size: LONGEST_LINE,
    on_skip: skipped,
  });
  const rows: AsyncIterable<CsvRow> = Readable.from(texts).pipe(parser);
  try {
    for await (const { record, raw, info } of rows) {
      yield* faults.splice(0);
      const line = info.lines - newlines(raw.trim());
      const fault = encoding.faultIn(line, raw.trim());
      yield fault === undefined ? { line, ...csvFields(record) } : { line, fault };
    }
  } catch (error) {
    if (error instanceof DoubledColumn) faults.push({ line: 1, fault: error.message });
    // Such as a record without end: nothing can be read after it.
    else if (error instanceof Error && "code" in error) skipped(error as CsvError);
    else throw error;
  }
  yield* faults.splice(0);
}

class DoubledColumn extends Error {
  override readonly name = "DoubledColumn";
}

/** Of two columns of one name, one would be lost. */
function oneOfEach(names: string[]): string[] {
  const doubled = names.find((name, at) => name !== "" && names.indexOf(name) !== at);
  if (doubled === undefined) return names;
  throw new DoubledColumn(`expected each column once, found "${doubled}" twice: rename one of them`);
}

function csvFault({ code, message }: CsvError): string {
  if (code === "CSV_RECORD_INCONSISTENT_COLUMNS") {
    const [, expected, found] = /length is (\d+), got (\d+)/.exec(message) ?? [];
    return `expected ${expected} columns, found ${found}`;
  }
  return `expected CSV, found a fault in it: ${message}`;
}

function newlines(text: string): number {
  return text.split("\n").length - 1;
}

/** `metadata.answer` as a column's name is a field of the metadata; `metadata` and `init_messages` hold JSON. */
function csvFields(row: Record<string, string>): { fields: Fields } | { fault: string } {
  const metadata = Object.entries(row).filter(([name]) => name.startsWith("metadata."));
  const inner = Object.fromEntries(metadata.map(([name, value]) => [name.slice("metadata.".length), value]));
  const outer: [string, unknown][] = [];
  for (const [name, value] of Object.entries(row)) {
    const read = csvValue(name, value);
    if ("fault" in read) return { fault: `${name}: ${read.fault}` };
    if (read.value !== undefined) outer.push([name, read.value]);
  }
  return { fields: { ...Object.fromEntries(outer), ...(metadata.length > 0 ? { metadata: inner } : {}) } };
}

const jsonColumns: ReadonlySet<unknown> = new Set(["metadata", "init_messages"]);
const mayBeAbsent: ReadonlySet<unknown> = new Set([...jsonColumns, "task_id", "env_type"]);

/** An empty cell is how CSV writes null. What is no JSON stays text, which the task's own check then names. */
function csvValue(name: string, text: string): { value: unknown } | { fault: string } {
  if (text.trim() === "" && mayBeAbsent.has(name)) return { value: undefined };
  if (!jsonColumns.has(name)) return { value: text };
  const parsed = parseJson(text);
  if ("value" in parsed) return parsed;
  return parsed.fault === undefined ? { value: text } : { fault: parsed.fault };
}
