/** The calls that drive an engine, each with what became of it instead of an error. */
import type { CallOptions } from "../engine.ts";
import { describeError, EngineError, redact, shorten } from "../errors.ts";
import type { CodeAnswer, EngineStatus, StartAnswer, StopAnswer, SyncAnswer } from "../protocol.ts";

/** What driving needs of the port `Engine`. */
export interface DrivenEngine {
  status(): Promise<EngineStatus>;
  syncCode(zip: Uint8Array, options?: CallOptions): Promise<CodeAnswer>;
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
export async function outcomeOf(call: () => Promise<SyncAnswer | StopAnswer | CodeAnswer>): Promise<Outcome> {
  try {
    const answer = await call();
    if (answer === null || answer.success) return { kind: "accepted" };
    return { kind: "refused", words: bounded(wordsIn(answer) || "the engine answered success: false") };
  } catch (error) {
    if (error instanceof EngineError) return { kind: error.failure, words: bounded(wordsOf(error)) };
    return { kind: "unclear", words: describeError(error, WORDS_LIMIT) };
  }
}

function wordsIn(answer: SyncAnswer | CodeAnswer): string | undefined {
  if ("error" in answer) return answer.error ?? undefined;
  return ("message" in answer && answer.message) || undefined;
}

function wordsOf({ status, detail }: EngineError): string {
  return status === undefined ? detail : `HTTP ${status}: ${detail}`;
}

function bounded(words: string): string {
  return shorten(redact(words), WORDS_LIMIT);
}
