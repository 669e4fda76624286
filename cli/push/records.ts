/** The records of a file of tasks: JSONL, one JSON array, or CSV; each with its line, faulty ones too. */
import { Readable } from "node:stream";
import { type CsvError, parse } from "csv-parse";
import { shorten } from "../../functions/core/errors.ts";
import { CommandFailure } from "../failures.ts";
import { arrayElements } from "./json-array.ts";
import { type Chunks, LONGEST_LINE, type Numbered, numberedLines } from "./lines.ts";

export const formats = ["jsonl", "json", "csv"] as const;
export type Format = (typeof formats)[number];

export type Fields = Readonly<Record<string, unknown>>;
/** Counted from 1; of a record of several lines, the first. */
export type InputRecord =
  | { readonly line: number; readonly fields: Fields }
  | { readonly line: number; readonly fault: string };

export interface Source {
  readonly name: string;
  /** Known from the file's name; else the first character tells. */
  readonly format: Format | undefined;
  open(): Chunks;
}

/** @throws CommandFailure where the format cannot be told */
export async function* readRecords(source: Source): AsyncGenerator<InputRecord> {
  const { first, chunks } = await peek(source.open());
  const format = source.format ?? formatOf(first);
  if (!format)
    throw new CommandFailure(
      `${source.name}: expected JSONL, a JSON array or CSV, found a text that begins with ${JSON.stringify(first)}: ` +
        "give --format",
    );
  if (format === "csv") yield* csvRecords(chunks);
  else yield* jsonRecords(format === "json" ? arrayElements(chunks) : numberedLines(chunks));
}

/** An array says so; anything else is read as lines, so that each faulty one is named. */
function formatOf(first: string): Format | undefined {
  if (first === "[") return "json";
  return first === "{" || first === "" ? "jsonl" : undefined;
}

/** The first character that is no white space, and all chunks again. */
async function peek(chunks: Chunks): Promise<{ first: string; chunks: Chunks }> {
  const iterator = chunks[Symbol.asyncIterator]();
  const seen: Uint8Array[] = [];
  let first = "";
  for (let next = await iterator.next(); !next.done && first === ""; next = await iterator.next()) {
    seen.push(next.value);
    first = new TextDecoder().decode(next.value).trimStart().slice(0, 1);
    if (first !== "") break;
  }
  async function* again() {
    yield* seen;
    for (let next = await iterator.next(); !next.done; next = await iterator.next()) yield next.value;
  }
  return { first, chunks: again() };
}

async function* jsonRecords(pieces: AsyncIterable<Numbered>): AsyncGenerator<InputRecord> {
  for await (const { line, text } of pieces) yield { line, ...jsonFields(text) };
}

function jsonFields(text: string): { fields: Fields } | { fault: string } {
  if (text.length > LONGEST_LINE) return { fault: `expected at most ${LONGEST_LINE} characters, found more` };
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value))
      return { fields: value as Fields };
    return { fault: `expected a JSON object with a task, found ${quote(text)}` };
  } catch {
    return { fault: `expected a task as JSON, found ${quote(text)}` };
  }
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

async function* csvRecords(chunks: Chunks): AsyncGenerator<InputRecord> {
  const faults: InputRecord[] = [];
  const skipped = (error: CsvError | undefined): undefined => {
    if (error) faults.push({ line: Number(error["lines"] ?? 0), fault: csvFault(error) });
  };
  const parser = parse({
    columns: true,
    bom: true,
    info: true,
    raw: true,
    skip_empty_lines: true,
    skip_records_with_error: true,
    max_record_size: LONGEST_LINE,
    on_skip: skipped,
  });
  const rows: AsyncIterable<CsvRow> = Readable.from(chunks).pipe(parser);
  try {
    for await (const { record, raw, info } of rows) {
      yield* faults.splice(0);
      yield { line: info.lines - newlines(raw.trim()), fields: csvFields(record) };
    }
  } catch (error) {
    // Such as a record without end: nothing can be read after it.
    if (!(error instanceof Error && "code" in error)) throw error;
    skipped(error as CsvError);
  }
  yield* faults.splice(0);
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
function csvFields(row: Record<string, string>): Fields {
  const metadata = Object.entries(row).filter(([name]) => name.startsWith("metadata."));
  const inner = Object.fromEntries(metadata.map(([name, value]) => [name.slice("metadata.".length), value]));
  const outer = Object.entries(row).map(([name, value]) => [
    name,
    jsonColumns.has(name) ? json(value) : value,
  ]);
  return {
    ...Object.fromEntries(outer.filter(([, value]) => value !== undefined)),
    ...(metadata.length > 0 ? { metadata: inner } : {}),
  };
}

const jsonColumns: ReadonlySet<unknown> = new Set(["metadata", "init_messages"]);

/** What is no JSON stays text, which the task's own check then names. */
function json(text: string): unknown {
  if (text.trim() === "") return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
