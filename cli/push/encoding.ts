/** Bytes to text that is UTF-8 throughout, or to be told by the lines that are not. */
import { isUtf8 } from "node:buffer";

export type Chunks = AsyncIterable<Uint8Array>;

const NEWLINE = 0x0a;

/** Decodes UTF-8 and keeps account of the lines that are something else. Memory does not grow with a line's length. */
export class Utf8Text {
  readonly #faults = new Map<number, string>();
  #line = 1;

  /** The text in pieces, whatever its lines; a byte order mark at the beginning goes, and what is no UTF-8 becomes U+FFFD. */
  async *read(chunks: Chunks): AsyncGenerator<string> {
    let pending = Buffer.alloc(0);
    let first = true;
    for await (const chunk of chunks) {
      const bytes = Buffer.concat([pending, chunk]);
      const end = wholeCharacters(bytes);
      pending = bytes.subarray(end);
      if (end === 0) continue;
      const text = this.#decode(bytes.subarray(0, end));
      yield first ? text.replace(/^\ufeff/, "") : text;
      first = false;
    }
    if (pending.length > 0) yield this.#decode(pending);
  }

  /** What is wrong with a text that begins on a line (counted from 1), if one of its lines was no UTF-8. */
  faultIn(line: number, text: string): string | undefined {
    if (this.#faults.size === 0 || !text.includes("\ufffd")) return undefined;
    const last = line + text.split("\n").length - 1;
    for (let number = line; number <= last; number += 1) {
      const fault = this.#faults.get(number);
      if (fault !== undefined) return number === line ? fault : `line ${number}: ${fault}`;
    }
    return undefined;
  }

  #decode(bytes: Buffer): string {
    if (isUtf8(bytes)) this.#line += count(bytes, NEWLINE);
    else this.#findFaults(bytes);
    return bytes.toString("utf8");
  }

  #findFaults(bytes: Buffer): void {
    for (let start = 0; start < bytes.length; ) {
      const newline = bytes.indexOf(NEWLINE, start);
      const end = newline === -1 ? bytes.length : newline;
      const part = bytes.subarray(start, end);
      if (!isUtf8(part) && !this.#faults.has(this.#line)) this.#faults.set(this.#line, notUtf8(part));
      if (newline !== -1) this.#line += 1;
      start = end + 1;
    }
  }
}

function notUtf8(line: Buffer): string {
  let end = line.findIndex((byte) => byte > 0x7f);
  while (end < line.length && isUtf8(line.subarray(0, end + 1 + trailing(line[end] ?? 0)))) end += 1;
  const byte = (line[end] ?? 0).toString(16).toUpperCase().padStart(2, "0");
  return `expected UTF-8, found the byte 0x${byte} that is none: ${convert("WINDOWS-1252")}`;
}

/** How to make UTF-8 of a file in another encoding. */
function convert(encoding: string): string {
  return `convert the file, as with iconv -f ${encoding} -t UTF-8 (-f names the encoding that it has)`;
}

/** The longer marks first. Without a mark, a first character of ASCII betrays the encoding by its zero byte. */
const wideEncodings: readonly [string, (head: string) => boolean][] = [
  ["UTF-32", (head) => head.startsWith("fffe0000") || head.startsWith("0000feff")],
  ["UTF-16", (head) => head.startsWith("fffe") || head.startsWith("feff")],
  ["UTF-16LE", (head) => /^[0-7][0-9a-f]00/.test(head)],
  ["UTF-16BE", (head) => /^00[0-7][0-9a-f]/.test(head)],
];

/** What is wrong with a text of an encoding of two or four bytes a character, by its first bytes. */
export function wideEncodingFault(head: Uint8Array): string | undefined {
  const hex = Buffer.from(head).toString("hex");
  const encoding = wideEncodings.find(([, matches]) => matches(hex))?.[0];
  return encoding && `expected UTF-8, found ${encoding}: ${convert(encoding)}`;
}

/** Where the last character ends that is whole: up to three bytes of one that is not may follow. */
function wholeCharacters(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    return trailing(byte) >= back ? bytes.length - back : bytes.length;
  }
  return bytes.length;
}

/** How many bytes follow the first one of a character. */
function trailing(lead: number): number {
  if (lead >= 0xf0) return 3;
  if (lead >= 0xe0) return 2;
  return lead >= 0xc0 ? 1 : 0;
}

function count(bytes: Buffer, wanted: number): number {
  let found = 0;
  for (let at = bytes.indexOf(wanted); at !== -1; at = bytes.indexOf(wanted, at + 1)) found += 1;
  return found;
}
