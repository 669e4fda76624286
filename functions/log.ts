/** Structured log lines through Powertools: one JSON object each, with the invocation's context in every line. */
import { Logger } from "@aws-lambda-powertools/logger";
import { redact } from "./core/errors.ts";
import type { Log } from "./core/log.ts";

/** No key leaves the process in a log line, whoever put it there. */
const logger = new Logger({
  serviceName: "sortie",
  jsonReplacerFn: (_key, value: unknown) => (typeof value === "string" ? redact(value) : value),
});

export function createLog(context: Record<string, unknown>): Log {
  const child = logger.createChild({ persistentKeys: context });
  return (level, message, facts) => child[level](message, facts ?? {});
}
