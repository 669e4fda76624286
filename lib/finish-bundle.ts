/**
 * Run on each bundle, as `node finish-bundle.ts <folder> <package> <agent>`: its source map names the user's files as they
 * do, native modules are refused, and a bundle with an agent is loaded once, so that what cannot be loaded fails here.
 */
import { fork } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, relative, resolve, sep } from "node:path";
import { HOST_ARGUMENT } from "../functions/contract/agent-host.ts";

const LOADING_MS = 30_000;
/** Of Lambda's own version: an older one may lack what the bundle may use. */
const LOADS_FROM = 24;
/** Packages that look for native modules only when they run. */
const finders =
  /node_modules\/(bindings|node-gyp-build|node-pre-gyp|@mapbox\/node-pre-gyp|prebuild-install)\//;

interface SourceMap {
  sources: string[];
  [field: string]: unknown;
}

const [folder = "", packageRoot = "", agent = ""] = process.argv.slice(2);
const shownAgent = relative(process.cwd(), agent).startsWith("..") ? agent : relative(process.cwd(), agent);
try {
  nameSources();
  refuseNative();
  if (agent !== "" && Number.parseInt(process.versions.node, 10) >= LOADS_FROM) await load();
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
}

/** Sources are relative to a folder that does not outlive the bundling; a stack is to name them from the user's own. */
function nameSources(): void {
  const file = join(folder, "index.mjs.map");
  const map = JSON.parse(readFileSync(file, "utf8")) as SourceMap;
  map.sources = map.sources.map((source) => named(resolve(folder, source)));
  writeFileSync(file, JSON.stringify(map));
}

function named(path: string): string {
  // A frame of ours is no help to an agent's author; libraries' frames are told by this folder.
  const ours = relative(join(packageRoot, "functions"), path);
  if (!ours.startsWith("..")) return `node_modules/sortie/functions/${ours.replaceAll(sep, "/")}`;
  const own = relative(process.cwd(), path).replaceAll(sep, "/");
  return own.startsWith("..") ? `file://${path.replaceAll(sep, "/")}` : own;
}

/** @throws Error where something in the bundle is compiled for one machine */
function refuseNative(): void {
  const file = join(folder, "index.meta.json");
  const { inputs } = JSON.parse(readFileSync(file, "utf8")) as { inputs: Record<string, unknown> };
  rmSync(file);
  const native = Object.keys(inputs).find((path) => path.endsWith(".node") || finders.test(path));
  if (native === undefined) return;
  throw new Error(
    `${shownAgent}: expected JavaScript alone, found a native module among what it imports (${native}), which is made for ` +
      "one kind of machine and cannot be bundled. Use a package without one, or run the agent as a service of its own, in a " +
      "container, and call it from this agent",
  );
}

/** @throws Error where the agent cannot be loaded */
async function load(): Promise<void> {
  const hosted = { engineUrl: "http://127.0.0.1:9", guarded: false };
  const child = fork(join(folder, "index.mjs"), [HOST_ARGUMENT, JSON.stringify(hosted)], {
    execArgv: ["--enable-source-maps"],
    stdio: ["ignore", "ignore", "ignore", "ipc"],
    serialization: "advanced",
  });
  const { promise, resolve: settle } = Promise.withResolvers<string | undefined>();
  const timer = setTimeout(() => settle(`it was not done within ${LOADING_MS / 1000} s`), LOADING_MS);
  child.on("message", (message: { kind: string; fault?: string }) => {
    if (message.kind === "ready") settle(undefined);
    if (message.kind === "unloadable") settle(message.fault);
  });
  child.on("exit", (code, signal) => settle(`it ended its process (${signal ?? `code ${code}`})`));
  const fault = await promise;
  clearTimeout(timer);
  child.kill("SIGKILL");
  if (fault !== undefined) throw new Error(`${shownAgent} cannot be loaded: ${fault}`);
}
