/** The words of an invocation, shared by the parts of the Lambda host. */

/** Why an invocation failed, in AWS's own error types, as `Sandbox.Timedout` or the name of a thrown error. */
export interface InvocationError {
  readonly type: string;
  readonly message: string;
  /** Lines of the stack, where the handler threw an `Error`. */
  readonly trace: readonly string[];
}

/** How an invocation ended. `payload` is what the handler returned, through JSON: `undefined` becomes `null`. */
export type InvocationResult =
  | { readonly status: "success"; readonly requestId: string; readonly payload: unknown }
  | { readonly status: "error"; readonly requestId: string; readonly error: InvocationError };

/** One line that a function wrote to standard output or standard error, as it wrote it. */
export interface LogEntry {
  readonly function: string;
  readonly pid: number;
  readonly line: string;
}
export type LogSink = (entry: LogEntry) => void;

/** AWS's words for the end of a runtime process. */
export function exitError(code: number | null, signal: string | null): InvocationError {
  return { type: "Runtime.ExitError", message: exitMessage(code, signal), trace: [] };
}

function exitMessage(code: number | null, signal: string | null): string {
  if (signal !== null) return `Runtime exited with error: signal: ${signalWords[signal] ?? signal}`;
  if (code === 0 || code === null) return "Runtime exited without providing a reason";
  return `Runtime exited with error: exit status ${code}`;
}

const signalWords: Readonly<Record<string, string>> = {
  SIGKILL: "killed",
  SIGABRT: "aborted",
  SIGSEGV: "segmentation fault",
};

/** AWS's words for an invocation that ran longer than the function's timeout (ms). */
export function timeoutError(timeoutMs: number): InvocationError {
  const message = `Task timed out after ${(timeoutMs / 1000).toFixed(2)} seconds`;
  return { type: "Sandbox.Timedout", message, trace: [] };
}

/** The body of the runtime API's error calls: `{errorType, errorMessage, trace}`. */
export function parseError(body: string): InvocationError {
  const fields = parseJson(body);
  if (typeof fields !== "object" || fields === null) return { type: "Unknown", message: body, trace: [] };
  const { errorType, errorMessage, trace } = fields as Record<string, unknown>;
  return {
    type: typeof errorType === "string" ? errorType : "Unknown",
    message: typeof errorMessage === "string" ? errorMessage : "",
    trace: Array.isArray(trace) ? trace.map(String) : [],
  };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
