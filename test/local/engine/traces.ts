/** The situations of `engine-traces.json`, and how its placeholders are compared. */
import { readFileSync } from "node:fs";

export interface Step {
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
  readonly status: number | null;
  readonly answer: unknown;
  readonly answer_pydantic2?: unknown;
  readonly before?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
  readonly headers_answered?: Readonly<Record<string, string>>;
  readonly seconds?: number;
  readonly content_type?: string;
  readonly broken_off?: string;
  readonly sent_before_step?: number;
}
export interface Situation {
  readonly name: string;
  readonly engine: string;
  readonly chat_route?: "newer";
  readonly steps: readonly Step[];
}

const file = new URL("../../data/engine-traces.json", import.meta.url);
export const situations: readonly Situation[] = JSON.parse(readFileSync(file, "utf8"));

const wildcards: readonly (readonly [string, string])[] = [
  ["<port>", "\\d+"],
  ["<zmq address>", "tcp://\\S+"],
  ["<time>", "\\d+(?:\\.\\d+)?"],
  ["<seconds>", "\\d+\\.\\d"],
  ["<pid>", "\\d+"],
];

/** What `<episode-1>` and its like stand for in one replay: each for one uuid, and no two for the same. */
export class Episodes {
  readonly #uuids = new Map<string, string>();
  readonly #keyOf: (uuid: string) => string;

  constructor(keyOf: (uuid: string) => string) {
    this.#keyOf = keyOf;
  }

  /** Placeholders in `text` that stand for nothing yet. */
  unbound(text: string): string[] {
    return [...new Set(text.match(/<episode-\d+>/g))].filter((name) => !this.#uuids.has(name));
  }

  bind(name: string, uuid: string): void {
    if ([...this.#uuids.values()].includes(uuid))
      throw new Error(`${name} is another episode's uuid ${uuid}`);
    this.#uuids.set(name, uuid);
  }

  has(uuid: string): boolean {
    return [...this.#uuids.values()].includes(uuid);
  }

  uuidOf(name: string): string {
    const uuid = this.#uuids.get(name);
    if (uuid === undefined) throw new Error(`${name} stands for no episode yet`);
    return uuid;
  }

  /** Puts uuids and keys in place of their names. */
  fill(text: string): string {
    return text
      .replace(/<key of (<episode-\d+>)>/g, (_, name: string) => this.#keyOf(this.uuidOf(name)))
      .replace(/<key without its prefix of (<episode-\d+>)>/g, (_, name: string) =>
        this.#keyOf(this.uuidOf(name)).replace("sk-ajet-", ""),
      )
      .replace(/<episode-\d+>/g, (name) => this.uuidOf(name));
  }

  /** Learns what new names stand for, wherever `found` has a whole uuid at the place of a name. */
  learn(expected: unknown, found: unknown): void {
    if (typeof expected === "string" && typeof found === "string") {
      if (/^<episode-\d+>$/.test(expected) && this.unbound(expected).length > 0) this.bind(expected, found);
      return;
    }
    if (!isTree(expected) || !isTree(found)) return;
    const foundKeys = Object.keys(found);
    for (const [index, [key, value]] of Object.entries(expected).entries()) {
      this.learn(key, foundKeys[index]);
      const there = /^<episode-\d+>$/.test(key) ? foundKeys[index] : key;
      this.learn(value, there === undefined ? undefined : Reflect.get(found, there));
    }
  }

  /**
   * What `expected` means here: names filled in, and each wildcard replaced by what `found` has at its place if that
   * fits, so that a plain comparison shows every difference.
   */
  expectedFor(expected: unknown, found: unknown): unknown {
    if (typeof expected === "string") return this.#text(expected, found);
    if (Array.isArray(expected)) {
      return expected.map((item, index) =>
        this.expectedFor(item, isTree(found) ? Reflect.get(found, index) : found),
      );
    }
    if (!isTree(expected)) return expected;
    return Object.fromEntries(
      Object.entries(expected).map(([key, value]) => {
        const name = this.fill(key);
        return [name, this.expectedFor(value, isTree(found) ? Reflect.get(found, name) : undefined)];
      }),
    );
  }

  #text(expected: string, found: unknown): unknown {
    const filled = this.fill(expected);
    if (!wildcards.some(([name]) => filled.includes(name))) return filled;
    const pattern = wildcards.reduce((text, [name, fits]) => text.replaceAll(name, fits), escaped(filled));
    return new RegExp(`^${pattern}$`).test(String(found)) ? found : filled;
  }
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");
}

function isTree(value: unknown): value is object {
  return value !== null && typeof value === "object";
}

/** The id and the time of a completion are each engine's own. */
export function withoutIdentity(value: unknown): unknown {
  const text = JSON.stringify(value)
    .replace(/chatcmpl-[\w-]+/g, "chatcmpl-1")
    .replace(/created(\\?)": ?\d+/g, 'created$1": 1');
  return JSON.parse(text);
}
