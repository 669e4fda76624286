/** The log, as the domain writes it. */

/** One structured log line. Facts hold no prompt and no key. */
export type Log = (
  level: "info" | "warn" | "error",
  message: string,
  facts?: Record<string, unknown>,
) => void;
