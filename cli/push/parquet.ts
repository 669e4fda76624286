/** The rows of a Parquet file, one row group at a time. */
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from "node:zlib";
import {
  type AsyncBuffer,
  asyncBufferFromFile,
  type Compressors,
  parquetMetadataAsync,
  parquetReadObjects,
} from "hyparquet";
import { describeError } from "../../functions/core/errors.ts";
import { CommandFailure } from "../failures.ts";
import type { Chunks } from "./encoding.ts";
import { WrittenNumber } from "./json.ts";
import type { Fields, InputRecord } from "./record.ts";

/** Snappy and uncompressed pages are hyparquet's own. */
const compressors: Compressors = {
  GZIP: (input) => gunzipSync(input),
  BROTLI: (input) => brotliDecompressSync(input),
  ZSTD: (input) => zstdDecompressSync(input),
};

/** Parquet is read from its end, so that a stream is kept whole in memory. Rows count from 1. @throws CommandFailure */
export async function* parquetRecords(source: {
  readonly name: string;
  readonly path: string | undefined;
  readonly chunks: Chunks;
}): AsyncGenerator<InputRecord> {
  try {
    const file =
      source.path === undefined ? await wholeOf(source.chunks) : await asyncBufferFromFile(source.path);
    const metadata = await parquetMetadataAsync(file);
    let row = 0;
    for (const group of metadata.row_groups) {
      const rowEnd = row + Number(group.num_rows);
      const rows = await parquetReadObjects({ file, metadata, rowStart: row, rowEnd, compressors });
      for (const fields of rows) yield { line: ++row, fields: plain(fields) as Fields };
    }
  } catch (error) {
    throw new CommandFailure(
      `${source.name}: expected Parquet, found a fault in it: ${describeError(error, 200)}`,
      error,
    );
  }
}

async function wholeOf(chunks: Chunks): Promise<AsyncBuffer> {
  const parts: Uint8Array[] = [];
  for await (const chunk of chunks) parts.push(chunk);
  const bytes = Buffer.concat(parts);
  return {
    byteLength: bytes.length,
    slice: (start, end) => new Uint8Array(bytes.subarray(start, end)).buffer,
  };
}

/** As JSON has it: whole numbers as they are, times in ISO 8601, bytes in base64. */
function plain(value: unknown): unknown {
  if (typeof value === "bigint") {
    const number = Number(value);
    return BigInt(number) === value ? number : new WrittenNumber(String(value));
  }
  if (typeof value === "number" && !Number.isFinite(value)) return new WrittenNumber(String(value));
  if (value instanceof Date) return value.toISOString();
  if (ArrayBuffer.isView(value))
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("base64");
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, plain(part)]));
}
