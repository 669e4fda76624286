/** Asks a thread that answers nothing any more whose code it is running, by interrupting it as a debugger does. */
import { Session } from "node:inspector";
import { findSourceMap } from "node:module";
import { WHO_RUNS } from "./messages.ts";

export interface Running {
  /** The agent's number; undefined where the code belongs to none. */
  readonly id: number | undefined;
  /** The function and the place in its file. */
  readonly at: string;
}

/** A thread that waits in native code, as in `execSync`, is not interrupted. */
const PATIENCE_MS = 5000;

interface Paused {
  readonly callFrames: readonly {
    readonly callFrameId: string;
    readonly functionName: string;
    readonly location: {
      readonly scriptId: string;
      readonly lineNumber: number;
      readonly columnNumber?: number;
    };
  }[];
}

/** `thread` is its name. Undefined where it cannot be interrupted within 5 s. The thread runs on afterwards. */
export async function whoRunsIn(thread: string): Promise<Running | undefined> {
  const session = new Session();
  session.connect();
  const { promise, resolve } = Promise.withResolvers<Running | undefined>();
  const timer = setTimeout(() => resolve(undefined), PATIENCE_MS);
  try {
    session.on("NodeWorker.attachedToWorker", ({ params }) => {
      const { sessionId, workerInfo } = params;
      if (workerInfo.title.endsWith(thread)) ask(session, sessionId, resolve);
    });
    session.post("NodeWorker.enable", { waitForDebuggerOnStart: false });
    return await promise;
  } catch {
    return undefined;
  } finally {
    clearTimeout(timer);
    session.post("NodeWorker.disable");
    session.disconnect();
  }
}

function ask(session: Session, sessionId: string, resolve: (running: Running) => void): void {
  let last = 0;
  const send = (method: string, params: object = {}) => {
    last += 1;
    const message = JSON.stringify({ id: last, method, params });
    session.post("NodeWorker.sendMessageToWorker", { sessionId, message });
    return last;
  };
  let asked: number | undefined;
  let at = "";
  const scripts = new Map<string, string>();
  session.on("NodeWorker.receivedMessageFromWorker", ({ params }) => {
    const answer = JSON.parse(params.message) as {
      id?: number;
      method?: string;
      params?: unknown;
      result?: unknown;
    };
    if (answer.method === "Debugger.scriptParsed") noteScript(scripts, answer.params);
    const [frame] = answer.method === "Debugger.paused" ? (answer.params as Paused).callFrames : [];
    if (frame) {
      at = placeOf(frame, scripts.get(frame.location.scriptId) ?? "");
      const expression = `globalThis[Symbol.for(${JSON.stringify(WHO_RUNS)})]()`;
      asked = send("Debugger.evaluateOnCallFrame", {
        callFrameId: frame.callFrameId,
        expression,
        returnByValue: true,
      });
    }
    if (asked === undefined || answer.id !== asked) return;
    const { result } = answer.result as { result: { type: string; value?: unknown } };
    send("Debugger.resume");
    resolve({ id: typeof result.value === "number" ? result.value : undefined, at });
  });
  send("Debugger.enable");
  send("Debugger.pause");
}

function noteScript(scripts: Map<string, string>, params: unknown): void {
  const { scriptId, url } = params as { scriptId: string; url: string };
  scripts.set(scriptId, url);
}

function placeOf({ functionName, location }: Paused["callFrames"][number], url: string): string {
  const line = location.lineNumber + 1;
  const column = (location.columnNumber ?? 0) + 1;
  const origin = findSourceMap(url)?.findOrigin(line, column);
  // As the user wrote it, where the bundle's source map is loaded.
  if (origin && "fileName" in origin) return `${nameOf(origin.fileName)}:${origin.lineNumber}`;
  const place = `${nameOf(url)}:${line}:${column}`;
  return functionName === "" ? place : `${functionName} (${place})`;
}

function nameOf(path: string): string {
  return path.split("/").at(-1) ?? "";
}
