/**
 * To be imported before the agent: one agent's stray promise, timer or event must not end the process in which its
 * neighbours work. Every attempt is fenced and its result is stored, so going on is safe; what was thrown is logged.
 */
import { installFetch } from "./adapters/engine/index.ts";
import { describeError } from "./core/errors.ts";
import { createLog } from "./log.ts";

const log = createLog({});
for (const event of ["unhandledRejection", "uncaughtException"] as const) {
  // The runtime's own listeners end the process.
  process.removeAllListeners(event);
  process.on(event, (error: unknown) =>
    log("error", `${event} outside of any rollout`, { error: describeError(error) }),
  );
}

// An agent's own library must not cut a model call that is silent for minutes; some keep the fetch that they find.
installFetch();
