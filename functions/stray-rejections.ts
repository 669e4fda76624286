import { describeError } from "./core/errors.ts";
import type { Log } from "./core/ports.ts";

/**
 * Keeps the process alive when a promise is rejected that nobody waits for: agents leave such promises behind, and the
 * runtime's own listener would end the process with all the episodes of its batch. To be called in each invocation,
 * since the runtime may add its listener late; an exception outside of promises still ends the process.
 */
export function surviveStrayRejections(log: Log): void {
  process.removeAllListeners("unhandledRejection");
  process.on("unhandledRejection", (reason) =>
    log("error", "a promise was rejected that nobody waits for", { error: describeError(reason) }),
  );
}
