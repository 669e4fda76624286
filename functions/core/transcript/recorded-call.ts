/** A model call as it went over the wire, whichever library made it. */
export interface RecordedCall {
  /** Unix ms at which it began. */
  readonly at: number;
  /** How long it took, ms. */
  readonly ms: number;
  /** Of the request, such as `/v1/chat/completions`. */
  readonly path: string;
  /** Absent where no answer came. */
  readonly status?: number;
  /** What kept it from an answer. */
  readonly error?: string;
  readonly contentType: string;
  /** Bodies as text; what is longer than `MOST_BODY` is cut off. */
  readonly request: string;
  readonly response: string;
}

/** Characters of a body that are recorded. */
export const MOST_BODY = 1_000_000;

export type RecordCall = (call: RecordedCall) => void;
