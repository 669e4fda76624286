/** Runs `npm start` as a user does: the real command in a process of its own. */
import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

const root = new URL("../../", import.meta.url);
const node = fileURLToPath(new URL("node_modules/.bin/node", root));

export interface Started {
  /** What it has written to standard error so far. */
  readonly errors: () => string;
  readonly done: Promise<{ code: number | null; out: string; err: string }>;
  /** Ctrl-C, as far as the command itself is concerned. */
  interrupt(): void;
  /** Its children, and theirs, with this text in their command line (Linux only). */
  descendants(command: string): number[];
  /** What it has left in its folder for temporary files. */
  leftovers(): string[];
}

export function npmStart(...args: string[]): Started {
  const scratch = mkdtempSync(join(tmpdir(), "sortie-start-"));
  const child = spawn(node, ["local/start.ts", ...args], {
    cwd: root,
    env: { ...process.env, TMPDIR: scratch },
    stdio: ["ignore", "pipe", "pipe"],
  });
  onTestFinished(() => {
    child.kill("SIGKILL");
    rmSync(scratch, { recursive: true, force: true });
  });
  const out = collect(child.stdout);
  const err = collect(child.stderr);
  const closed = new Promise<number | null>((resolve, reject) =>
    child.on("error", reject).on("close", resolve),
  );
  return {
    errors: err,
    done: closed.then((code) => ({ code, out: out(), err: err() })),
    interrupt: () => child.kill("SIGINT"),
    descendants: (command) =>
      descendantsOf(child.pid ?? 0).filter((pid) => processFile(pid, "cmdline").includes(command)),
    // Node's compile cache is for all programs of this machine.
    leftovers: () => readdirSync(scratch).filter((name) => name !== "node-compile-cache"),
  };
}

function collect(stream: NodeJS.ReadableStream): () => string {
  let text = "";
  stream.setEncoding("utf8").on("data", (part: string) => {
    text += part;
  });
  return () => text;
}

function descendantsOf(ancestor: number): number[] {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  const parents = new Map(pids.map((pid) => [Number(pid), parentOf(Number(pid))]));
  const isBelow = (pid: number): boolean => {
    const parent = parents.get(pid);
    return parent !== undefined && (parent === ancestor || isBelow(parent));
  };
  return [...parents.keys()].filter(isBelow);
}

function parentOf(pid: number): number | undefined {
  const [, parent] = /^PPid:\s*(\d+)$/m.exec(processFile(pid, "status")) ?? [];
  return parent === undefined ? undefined : Number(parent);
}

/** Empty where the process has ended meanwhile. */
function processFile(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, "utf8");
  } catch {
    return "";
  }
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
