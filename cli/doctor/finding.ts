/** What a check finds, and how checks are run. */
import type { Deployment } from "../deployment.ts";
import { describeFailure, type Where } from "../failures.ts";

/** `warning` as somebody wanted it, or no fault yet, but worth knowing; `unknown` it could not be found out. Neither fails. */
export interface Finding {
  readonly check: string;
  readonly verdict: "ok" | "warning" | "failed" | "unknown";
  readonly text: string;
}

export interface Check {
  readonly name: string;
  run(): Promise<Omit<Finding, "check">>;
}

export interface CheckPorts {
  readonly deployment: Deployment;
  readonly where: Where;
  readonly now: () => number;
}

export const ok = (text: string) => ({ verdict: "ok", text }) as const;
export const failed = (text: string) => ({ verdict: "failed", text }) as const;
export const warning = (text: string) => ({ verdict: "warning", text }) as const;
export const unknown = (text: string) => ({ verdict: "unknown", text }) as const;

/** One after another: each says what to do, also where it could not be carried out. */
export async function runChecks(checks: readonly Check[], where: Where): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const { name, run } of checks) {
    const outcome = await run().catch((error) => failed(describeFailure(error, where)));
    findings.push({ check: name, ...outcome });
  }
  return findings;
}
