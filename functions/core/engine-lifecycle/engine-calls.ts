/** The calls that drive an engine, each with what became of it instead of an error. */
import type { CallOptions } from "../engine.ts";
import { describeError, EngineError, redact, shorten } from "../errors.ts";
import type { EngineStatus, StartAnswer, StopAnswer, SyncAnswer } from "../protocol.ts";

/** What driving needs of the port `Engine`. */
export interface DrivenEngine {
  status(): Promise<EngineStatus>;
  syncConfig(yaml: string, options?: CallOptions): Promise<SyncAnswer>;
  start(options?: CallOptions): Promise<StartAnswer>;
  stop(options?: CallOptions): Promise<StopAnswer>;
}

/** `words`: the engine's own, verbatim, without keys and bounded. */
export type Outcome =
  | { readonly kind: "accepted" }
  | { readonly kind: "refused" | "unreachable" | "unclear"; readonly words: string };

const WORDS_LIMIT = 2000;

/** Older engines answer a stop with null, which says nothing against it. */
export async function outcomeOf(call: () => Promise<SyncAnswer | StopAnswer>): Promise<Outcome> {
  try {
    const answer = await call();
    if (answer === null || answer.success) return { kind: "accepted" };
    const error = "error" in answer ? answer.error : undefined;
    return { kind: "refused", words: bounded(error || "the engine answered success: false") };
  } catch (error) {
    if (error instanceof EngineError) return { kind: error.failure, words: bounded(wordsOf(error)) };
    return { kind: "unclear", words: describeError(error, WORDS_LIMIT) };
  }
}

function wordsOf({ status, detail }: EngineError): string {
  return status === undefined ? detail : `HTTP ${status}: ${detail}`;
}

function bounded(words: string): string {
  return shorten(redact(words), WORDS_LIMIT);
}
