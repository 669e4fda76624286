import { redact } from "./core/errors.ts";
import type { Log } from "./core/ports.ts";

/** Structured log lines, one JSON object each, with the context in every line. */
export function createLog(context: Record<string, unknown>): Log {
  return (level, message, facts) => {
    const line = { time: new Date().toISOString(), level, message, ...context, ...facts };
    process.stdout.write(`${redact(JSON.stringify(line))}\n`);
  };
}
