/**
 * Ends the process where an agent never gives the event loop back, and says where it was: nothing in the main thread can.
 * One file for two: the main thread's side, and the thread that watches it.
 */
import { existsSync, readFileSync, writeSync } from "node:fs";
import { type Debugger, Session } from "node:inspector";
import { SourceMap } from "node:module";
import { dirname, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { isMainThread, Worker, workerData } from "node:worker_threads";

interface Watched {
  /** Counts up while the event loop turns. */
  readonly beats: Int32Array;
  readonly seconds: number;
}

const BEAT_MS = 200;

/** @returns what ends the watch */
export function watchEventLoop(seconds: number): () => void {
  const beats = new Int32Array(new SharedArrayBuffer(4));
  const beating = setInterval(() => Atomics.add(beats, 0, 1), BEAT_MS).unref();
  const given: Watched = { beats, seconds };
  const worker = new Worker(fileURLToPath(import.meta.url), { workerData: given });
  worker.unref();
  return () => {
    clearInterval(beating);
    void worker.terminate();
  };
}

function watch({ beats, seconds }: Watched): void {
  let last = { beat: 0, at: performance.now() };
  const looking = setInterval(() => {
    const beat = Atomics.load(beats, 0);
    if (beat !== last.beat) last = { beat, at: performance.now() };
    if (performance.now() - last.at < seconds * 1000) return;
    clearInterval(looking);
    interrupt(seconds);
  }, BEAT_MS);
}

/** As a debugger does; a main thread that waits in native code is not interrupted. */
function interrupt(seconds: number): void {
  const end = (where: string) => {
    writeSync(
      1,
      `  the agent blocked the event loop for ${seconds} s${where}: await something in its loops\n`,
    );
    process.kill(process.pid, "SIGKILL");
  };
  setTimeout(end, NATIVE_MS, "");
  const session = new Session();
  session.connectToMainThread();
  const scripts = new Map<string, string>();
  session.on("Debugger.scriptParsed", ({ params }) => scripts.set(params.scriptId, params.url));
  session.on("Debugger.paused", ({ params }) => {
    const [frame] = params.callFrames;
    end(frame ? `, at ${placeOf(frame.location, scripts.get(frame.location.scriptId) ?? "")}` : "");
  });
  session.post("Debugger.enable");
  session.post("Debugger.pause");
}

const NATIVE_MS = 3000;

/** As the user wrote it, where the bundle has its source map beside it. */
function placeOf({ lineNumber, columnNumber = 0 }: Debugger.Location, url: string): string {
  const place = `${url}:${lineNumber + 1}`;
  const map = url.startsWith("file:") ? `${fileURLToPath(url)}.map` : "";
  if (!existsSync(map)) return place;
  const origin = new SourceMap(JSON.parse(readFileSync(map, "utf8"))).findEntry(lineNumber, columnNumber);
  if (!("originalSource" in origin)) return place;
  const source = resolve(dirname(fileURLToPath(url)), origin.originalSource);
  return `${relative(process.cwd(), source)}:${origin.originalLine + 1}`;
}

if (!isMainThread) watch(workerData as Watched);
