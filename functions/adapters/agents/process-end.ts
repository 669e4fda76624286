/** Ending the process is refused to agents: their neighbours work in it. */
import { syncBuiltinESMExports } from "node:module";

/** Thrown at whoever would have ended the process; what it was doing cannot go on. */
export class ProcessEndRefused extends Error {
  override readonly name = "ProcessEndRefused";
}

type Tell = (what: string) => void;

/** From now on `tell` hears of each try, before it is refused. Meant for threads and processes that host agents only. */
export function guardProcess(tell: Tell): void {
  const refuse = (name: string, argument: unknown, caller: (...parts: never[]) => unknown): never => {
    const what = `called process.${name}(${argument === undefined ? "" : String(argument)})${placeOf(caller)}`;
    tell(what);
    throw new ProcessEndRefused(`${what}: refused, since other agents may run in this process`);
  };
  const exit = (code?: unknown): never => refuse("exit", code, exit);
  const reallyExit = (code?: unknown): never => refuse("reallyExit", code, reallyExit);
  const abort = (): never => refuse("abort", undefined, abort);
  const original = process.kill.bind(process);
  const kill = (pid: number, signal?: string | number): true =>
    isOurs(pid) && signal !== 0 ? refuse("kill", pid, kill) : original(pid, signal);
  Object.assign(process, { exit, reallyExit, abort, kill });
  // `import { exit } from "node:process"` as well.
  syncBuiltinESMExports();
}

/** This process, its parent, or a group that holds them. */
function isOurs(pid: number): boolean {
  return [process.pid, -process.pid, process.ppid, -process.ppid, 0, -1].includes(pid);
}

/** Where the call stands, as ` at name (file:line:column)`; nothing where that cannot be told. */
function placeOf(caller: (...parts: never[]) => unknown): string {
  const holder = { stack: "" };
  Error.captureStackTrace(holder, caller);
  const line = holder.stack.split("\n").find((part) => part.trimStart().startsWith("at "));
  return line === undefined ? "" : ` ${line.trim().slice(0, 200)}`;
}
