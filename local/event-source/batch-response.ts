import type { InvocationResult } from "../lambda/invocation.ts";

/** What becomes of a batch: which messages are done, and why the others are not. */
export interface Verdict {
  readonly succeeded: ReadonlySet<string>;
  /** Why the whole batch failed. */
  readonly fault?: string;
}

/**
 * Reads an invocation's result as Lambda's event source mapping does. With partial responses, an empty or null answer
 * (or list) means that the whole batch succeeded; an answer that is no object, a list that is none, an identifier that
 * is empty, null, misnamed or unknown, means that the whole batch failed, as a thrown error does.
 * https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html
 */
export function judge(
  result: InvocationResult,
  messageIds: readonly string[],
  partialResponses: boolean,
): Verdict {
  if (result.status === "error") return allFailed(`${result.error.type}: ${result.error.message}`);
  if (!partialResponses) return { succeeded: new Set(messageIds) };
  const failures = failuresOf(result.payload);
  if (failures === undefined) return allFailed("the answer is no partial batch response");
  const succeeded = new Set(messageIds);
  for (const failure of failures) {
    const id = identifierOf(failure);
    if (typeof id !== "string" || !messageIds.includes(id)) {
      return allFailed(`itemIdentifier: expected a message id of the batch, found ${JSON.stringify(id)}`);
    }
    succeeded.delete(id);
  }
  return { succeeded };
}

function failuresOf(payload: unknown): unknown[] | undefined {
  if (payload === null) return [];
  if (typeof payload !== "object" || Array.isArray(payload)) return undefined;
  const failures = "batchItemFailures" in payload ? payload.batchItemFailures : null;
  if (failures === null) return [];
  return Array.isArray(failures) ? failures : undefined;
}

function identifierOf(failure: unknown): unknown {
  return typeof failure === "object" && failure !== null && "itemIdentifier" in failure
    ? failure.itemIdentifier
    : undefined;
}

function allFailed(fault: string): Verdict {
  return { succeeded: new Set(), fault };
}
