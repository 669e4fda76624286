/** The checked tasks, on disk: a file of any size can be checked whole before anything is pushed, in any order. */
import { createReadStream } from "node:fs";
import { type FileHandle, mkdtemp, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Task } from "../../functions/core/protocol.ts";
import { numberedLines } from "./lines.ts";
import { shuffled } from "./shuffle.ts";

/** A task and where it stands, as `tasks.jsonl:7`. */
export interface Spooled {
  readonly at: string;
  readonly task: Task;
}

/** Bytes that are gathered before a write. */
const BUFFER_BYTES = 262_144;

export class Spool implements AsyncDisposable {
  readonly #folder: string;
  readonly #file: FileHandle;
  readonly #offsets: number[] = [];
  #size = 0;
  #buffer: string[] = [];
  #buffered = 0;

  private constructor(folder: string, file: FileHandle) {
    this.#folder = folder;
    this.#file = file;
  }

  static async create(): Promise<Spool> {
    const folder = await mkdtemp(join(tmpdir(), "sortie-push-"));
    return new Spool(folder, await open(join(folder, "tasks.jsonl"), "w+"));
  }

  get count(): number {
    return this.#offsets.length;
  }

  async add(spooled: Spooled): Promise<void> {
    const line = `${JSON.stringify(spooled)}\n`;
    this.#offsets.push(this.#size);
    const bytes = Buffer.byteLength(line);
    this.#size += bytes;
    this.#buffered += bytes;
    this.#buffer.push(line);
    if (this.#buffered >= BUFFER_BYTES) await this.#flush();
  }

  /** All tasks as they came, or in the order that the seed gives; at most `limit`. */
  async *read(
    options: { limit?: number | undefined; seed?: number | undefined } = {},
  ): AsyncGenerator<Spooled> {
    await this.#flush();
    const { limit = this.count, seed } = options;
    const tasks = seed === undefined ? this.#inOrder() : this.#atRandom(seed);
    let remaining = limit;
    for await (const task of tasks) {
      if (remaining === 0) return;
      remaining -= 1;
      yield task;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file.close();
    await rm(this.#folder, { recursive: true, force: true });
  }

  async *#inOrder(): AsyncGenerator<Spooled> {
    const stream = createReadStream(join(this.#folder, "tasks.jsonl"), "utf8");
    for await (const { text } of numberedLines(stream)) yield JSON.parse(text);
  }

  async *#atRandom(seed: number): AsyncGenerator<Spooled> {
    for (const index of shuffled(this.count, seed)) {
      const offset = this.#offsets[index] ?? 0;
      const length = (this.#offsets[index + 1] ?? this.#size) - offset;
      const { buffer } = await this.#file.read(Buffer.alloc(length), 0, length, offset);
      yield JSON.parse(buffer.toString("utf8"));
    }
  }

  async #flush(): Promise<void> {
    const text = this.#buffer.join("");
    this.#buffer = [];
    this.#buffered = 0;
    if (text !== "") await this.#file.appendFile(text);
  }
}
