/**
 * Gives a process another time of day than its neighbours have, as machines whose clocks differ. Timers run as ever. Its
 * threads and the Node.js processes that it starts are on the same machine: they get the same time.
 */
import childProcess from "node:child_process";
import { syncBuiltinESMExports } from "node:module";
import workerThreads from "node:worker_threads";

const OFFSET = "SORTIE_LOCAL_CLOCK_MS";

/** Milliseconds that this process's clock is ahead. */
export const offsetMs = Number(
  process.env[OFFSET] ?? drawn(Number(process.env.SORTIE_LOCAL_CLOCK_SPREAD_MS ?? 0)),
);

/** Half of all clocks are off by as much as may be, the others by anything between. */
function drawn(spreadMs) {
  const share = Math.random() * 4 - 2;
  return Math.round(Math.max(-1, Math.min(1, share)) * spreadMs);
}

if (offsetMs !== 0) {
  shiftDate();
  shareWithChildren();
}

function shiftDate() {
  const RealDate = Date;
  const now = () => RealDate.now() + offsetMs;
  globalThis.Date = new Proxy(RealDate, {
    apply: () => new RealDate(now()).toString(),
    construct: (target, given, newTarget) =>
      Reflect.construct(target, given.length === 0 ? [now()] : given, newTarget),
    get: (target, name, receiver) => (name === "now" ? now : Reflect.get(target, name, receiver)),
  });
}

function shareWithChildren() {
  const share = (options = {}) => ({
    ...options,
    env: { ...(options.env ?? process.env), [OFFSET]: String(offsetMs) },
    execArgv: [...(options.execArgv ?? []), "--import", import.meta.url],
  });
  const { Worker } = workerThreads;
  workerThreads.Worker = class extends Worker {
    constructor(file, options) {
      super(file, share(options));
    }
  };
  const { fork } = childProcess;
  childProcess.fork = (file, args, options) => fork(file, args, share(options));
  syncBuiltinESMExports();
}
