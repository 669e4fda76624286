/** What a call of the engine's API comes to. */
export type Answer =
  | { readonly status: number; readonly json: unknown }
  | { readonly status: number; readonly text: string; readonly contentType: string }
  /** Server-sent events; a stream that throws breaks off. */
  | { readonly status: number; readonly events: AsyncIterable<string> };

export function ok(json: unknown): Answer {
  return { status: 200, json };
}

/** What Starlette says when a handler throws. */
export const internalError: Answer = {
  status: 500,
  text: "Internal Server Error",
  contentType: "text/plain; charset=utf-8",
};

/** FastAPI's `HTTPException`: a status and its `detail`. */
export class Refusal extends Error {
  readonly status: number;
  readonly detail: unknown;

  constructor(status: number, detail: unknown) {
    super(typeof detail === "string" ? detail : JSON.stringify(detail));
    this.status = status;
    this.detail = detail;
  }
}

/** The API's `BoolResponse`. */
export function success(isSuccess = true, failureReason = ""): Answer {
  return ok({ success: isSuccess, failure_reason: failureReason });
}
