/** Goes through a fleet's dead letters: each is lent for a short time, and shown to others again afterwards. */

import { factsOf, type LetterFacts } from "./letter.ts";
import { allLetters, type Letter, type LetterQueue, showAgain } from "./letters.ts";

export interface Selection {
  readonly reason?: string | undefined;
  readonly limit?: number | undefined;
  readonly wanted?: (facts: LetterFacts) => boolean;
}

/**
 * Calls `visit` with batches of the letters that are selected; it returns those that it has removed from the queue. All
 * others can be received again when this ends, whatever throws.
 */
export async function visitLetters(
  queue: LetterQueue,
  options: Selection & { readonly hideSeconds: number; readonly stop?: AbortSignal },
  visit: (letters: readonly Letter[]) => Promise<readonly Letter[]>,
): Promise<void> {
  const kept = new Set<string>();
  let remaining = options.limit ?? Number.POSITIVE_INFINITY;
  try {
    for await (const batch of allLetters(queue, options.hideSeconds)) {
      for (const { receipt } of batch) kept.add(receipt);
      const selected = batch.filter((letter) => isSelected(letter, options)).slice(0, remaining);
      remaining -= selected.length;
      for (const { receipt } of await visit(selected)) kept.delete(receipt);
      if (remaining <= 0 || options.stop?.aborted) break;
    }
  } finally {
    await showAgain(queue, [...kept]);
  }
}

function isSelected(letter: Letter, { reason, wanted }: Selection): boolean {
  const facts = factsOf(letter);
  return (reason === undefined || facts.reason === reason) && (wanted?.(facts) ?? true);
}
