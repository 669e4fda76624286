/** A way in which newer engines let their model be asked. */
import type { Completion } from "./completion.ts";

export interface Dialect {
  /** The body of the chat completion that a request means. @throws Error, a 500, where it means none */
  request(asked: Record<string, unknown>): Record<string, unknown>;
  answer(completion: Completion, named: Named): unknown;
  events(completion: Completion, named: Named): Iterable<string>;
}

export interface Named {
  /** The request's own `model`. */
  readonly model: string;
  /** Whether a streamed answer tells its usage. */
  readonly countsTokens: boolean;
  /** 24 hexadecimal digits that name the answer. */
  readonly id: string;
}
