/** What a file is by its first bytes, whatever its name says: packed, Parquet, or text. */
import { Readable } from "node:stream";
import { createGunzip, createZstdDecompress } from "node:zlib";
import { CommandFailure } from "../failures.ts";
import type { Chunks } from "./encoding.ts";

export interface Opened {
  /** The first bytes: eight, or all where there are fewer. */
  readonly head: Uint8Array;
  /** All bytes, the first ones too. */
  readonly chunks: Chunks;
  readonly packed: boolean;
}

interface Packing {
  readonly name: string;
  readonly magic: readonly number[];
  readonly unpack?: () => NodeJS.ReadWriteStream;
}

const packings: readonly Packing[] = [
  { name: "gzip", magic: [0x1f, 0x8b], unpack: createGunzip },
  { name: "Zstandard", magic: [0x28, 0xb5, 0x2f, 0xfd], unpack: createZstdDecompress },
  { name: "a zip archive", magic: [0x50, 0x4b, 0x03, 0x04] },
  { name: "bzip2", magic: [0x42, 0x5a, 0x68] },
  { name: "xz", magic: [0xfd, 0x37, 0x7a, 0x58, 0x5a] },
];

/** Opens a file's bytes, unpacked where they are packed. @throws CommandFailure where that cannot be done */
export async function openUnpacked(name: string, chunks: Chunks): Promise<Opened> {
  const opened = await withHead(chunks);
  const packing = packings.find(({ magic }) => magic.every((byte, at) => opened.head[at] === byte));
  if (!packing) return { ...opened, packed: false };
  if (!packing.unpack)
    throw new CommandFailure(`${name}: expected tasks, found ${packing.name}: unpack it first`);
  const inside = await withHead(unpacked(name, packing.name, packing.unpack(), opened.chunks));
  return { ...inside, packed: true };
}

export function isParquet(head: Uint8Array): boolean {
  return Buffer.from(head.subarray(0, 4)).toString("latin1") === "PAR1";
}

async function* unpacked(
  name: string,
  packing: string,
  stream: NodeJS.ReadWriteStream,
  chunks: Chunks,
): AsyncGenerator<Uint8Array> {
  const source = Readable.from(chunks);
  source.on("error", (error) => stream.emit("error", error));
  try {
    for await (const chunk of source.pipe(stream)) yield chunk as unknown as Uint8Array;
  } catch (error) {
    throw new CommandFailure(
      `${name}: expected ${packing} to its end, found ${(error as Error).message}: is the file whole?`,
      error,
    );
  } finally {
    source.destroy();
  }
}

const HEAD_BYTES = 8;

async function withHead(chunks: Chunks): Promise<Omit<Opened, "packed">> {
  const iterator = chunks[Symbol.asyncIterator]();
  let head = Buffer.alloc(0);
  while (head.length < HEAD_BYTES) {
    const next = await iterator.next();
    if (next.done) break;
    head = Buffer.concat([head, next.value]);
  }
  async function* again() {
    try {
      if (head.length > 0) yield head;
      for (let next = await iterator.next(); !next.done; next = await iterator.next()) yield next.value;
    } finally {
      await iterator.return?.();
    }
  }
  return { head, chunks: again() };
}
