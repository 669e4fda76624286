/** Where transcripts lie: under the fleet's name, by run and rollout, one document for each attempt. */
import * as z from "zod";

/** `none`, `failures` (all but ended attempts), `all`, or a share of the rollouts between 0 and 1. */
const expected = 'expected "none", "failures", "all", or a share of the rollouts between 0 and 1';
const share = z.number({ error: expected }).gt(0, { error: expected }).lt(1, { error: expected });
export const transcriptsKept = z.union([z.enum(["none", "failures", "all"]), share], { error: expected });
export type TranscriptsKept = z.infer<typeof transcriptsKept>;

/** The fleet's transcripts; a policy's resource with `*` behind it. */
export function fleetTranscripts(fleet: string): string {
  return `${fleet}/`;
}

/** Those of one run. Runs that differ only in `:` and `_` share it. */
export function runTranscripts(fleet: string, run: string | undefined): string {
  return `${fleetTranscripts(fleet)}${run === undefined ? "-" : run.replaceAll(":", "_")}/`;
}
