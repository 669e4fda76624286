/**
 * Every error that Sortie raises. Each has a stable `code` and carries facts; its message says what was expected,
 * what was found, and what to do. No message holds a secret (api keys, tokens) or a prompt.
 */
export abstract class SortieError extends Error {
  abstract readonly code: string;
  override get name(): string {
    return this.constructor.name;
  }
}

/** A queue message that is no rollout, and never will be. */
export class InvalidMessageError extends SortieError {
  readonly code = "invalid-message";
}

/** What an agent returned is not a workflow output that the trainer can use. */
export class InvalidOutputError extends SortieError {
  readonly code = "invalid-output";
}

/**
 * What is known about a call to the engine that did not succeed:
 * `refused` the engine itself answered no (a refusal that this call can have, or `success: false`) and did nothing;
 * `unreachable` no connection came about, so it did nothing;
 * `unclear` it may have acted: time-out, reset, 5xx, or an answer that the engine cannot have given, as of a proxy.
 */
export type EngineFailure = "refused" | "unreachable" | "unclear";

/** A call to the engine failed. `status` is the HTTP status where there was an answer. */
export class EngineError extends SortieError {
  readonly code: `engine-${EngineFailure}`;
  readonly failure: EngineFailure;
  readonly call: string;
  readonly status: number | undefined;
  /** The engine's own words (`detail` of its answer), or the error of the transport. */
  readonly detail: string;
  /** Milliseconds after which to ask again, where the answer said so (`retry-after`); at most ten minutes. */
  readonly retryAfterMs: number | undefined;
  /**
   * Whether an `unclear` answer shows at least that this request did nothing: something before the engine turned it away, or
   * put its own words in place of the engine's refusal.
   */
  readonly turnedAway: boolean;

  constructor(facts: {
    failure: EngineFailure;
    call: string;
    detail: string;
    status?: number | undefined;
    retryAfterMs?: number | undefined;
    turnedAway?: boolean;
    cause?: unknown;
  }) {
    const status = facts.status === undefined ? "" : ` with HTTP ${facts.status}`;
    super(`${facts.call} ${facts.failure}${status}: ${facts.detail}`, { cause: facts.cause });
    this.code = `engine-${facts.failure}`;
    this.failure = facts.failure;
    this.call = facts.call;
    this.status = facts.status;
    this.detail = facts.detail;
    this.retryAfterMs = facts.retryAfterMs;
    this.turnedAway = facts.turnedAway ?? false;
  }
}

/** The engine has no such call: it is older than the call. `refused`, so nothing was done. */
export class NotOfferedError extends EngineError {
  constructor(call: string, status: number) {
    super({
      failure: "refused",
      call,
      status,
      detail: "expected a newer engine, found one without this call; update the engine to use it",
    });
  }
}

/** The model did not answer with choices, whatever the HTTP status was. */
export class ModelError extends SortieError {
  readonly code = "model-error";
  readonly status: number | undefined;
  /** Whether something on the way to the model failed, or answered in its place: nothing that the agent did. */
  readonly outage: boolean;

  constructor(message: string, status?: number, cause?: unknown, outage = false) {
    super(message, { cause });
    this.status = status;
    this.outage = outage;
  }
}

/**
 * The table refuses a call and always will: repeating it is in vain. `item`: what was to be written cannot be stored (too
 * large, out of range). `access`: the deployment does not let us, until somebody changes that.
 */
export class StoreRefusedError extends SortieError {
  readonly code = "store-refused";
  readonly fault: "item" | "access";

  constructor(fault: "item" | "access", message: string, cause?: unknown) {
    super(message, { cause });
    this.fault = fault;
  }
}

/** Whether it can never be written down, whoever tries. */
export function isUnstorable(error: unknown): error is StoreRefusedError {
  return error instanceof StoreRefusedError && error.fault === "item";
}

/** The words of anything that was thrown, bounded so that it fits a table item or a message attribute. */
export function describeError(error: unknown, limit = 1000): string {
  return shorten(redact(wordsOf(error)), limit);
}

function wordsOf(error: unknown): string {
  try {
    return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  } catch {
    // Anything can be thrown, also what has no words: an object without a prototype, a getter that throws.
    return "an error that cannot be put into words";
  }
}

/** At most `limit` characters, none of them half of one: the table and the queue hold UTF-8 only. */
export function shorten(text: string, limit: number): string {
  return text.slice(0, limit).toWellFormed();
}

/** A key begins a word, so that a `task-2024` is none; the `n` of an escaped `\n` before it belongs to no word. */
const KEY = /(?:(?<!\w)|(?<=\\[a-z])|(?=sk-ajet-))sk-[\w-]{4,}[\w+/=]*/g;

/** Episode keys and bearer tokens, wherever a text carries them. */
export function redact(text: string): string {
  return text.replace(KEY, "sk-***").replace(/(bearer\s+)\S+/gi, "$1***");
}
