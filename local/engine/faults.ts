/** Faults that a test injects: consulted once for each request, before the engine looks at it. */
export interface FaultCall {
  readonly method: string;
  readonly path: string;
  /** The parsed JSON body; undefined where there is none. */
  readonly body: unknown;
  /** Unix ms. */
  readonly at: number;
}

export type Fault =
  /** Acts, and answers this many seconds later. */
  | { readonly kind: "delay"; readonly seconds: number }
  /** Answers this instead of acting: a 500, garbage, HTML. */
  | {
      readonly kind: "answer";
      readonly status: number;
      readonly text: string;
      readonly contentType?: string;
    }
  /** Closes the connection without acting. */
  | { readonly kind: "close" }
  /** Acts, then closes the connection without an answer. */
  | { readonly kind: "act-then-close" }
  /** Neither acts nor answers; the connection stays open. */
  | { readonly kind: "hang" };

export type Faults = (call: FaultCall) => Fault | undefined;
