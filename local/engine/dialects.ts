/** The three ways in which newer engines let their model be asked: each is a chat completion underneath. */
import { type Completion, eventsOf } from "./completion.ts";
import { anthropic } from "./messages.ts";
import { responses } from "./responses.ts";

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

const chatCompletions: Dialect = {
  request: (asked) => asked,
  answer: (completion) => completion,
  events: (completion, named) => eventsOf(completion, named),
};

/** By the path below the base URL. */
export const dialects = { "chat/completions": chatCompletions, responses, messages: anthropic } as const;
export type DialectName = keyof typeof dialects;
