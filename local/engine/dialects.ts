/** The three ways in which newer engines let their model be asked: each is a chat completion underneath. */
import { eventsOf } from "./completion.ts";
import type { Dialect } from "./dialect.ts";
import { anthropic } from "./messages.ts";
import { responses } from "./responses.ts";

const chatCompletions: Dialect = {
  request: (asked) => asked,
  answer: (completion) => completion,
  events: (completion, named) => eventsOf(completion, named),
};

/** By the path below the base URL. */
export const dialects = { "chat/completions": chatCompletions, responses, messages: anthropic } as const;
export type DialectName = keyof typeof dialects;
