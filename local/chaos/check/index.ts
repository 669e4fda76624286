/** The six statements that must hold, checked against what a run has left behind. Pure. */
import type { Check, Evidence } from "./evidence.ts";
import { checkFenced } from "./fenced.ts";
import { checkLost } from "./lost.ts";
import { checkMix } from "./mix.ts";
import { checkOpen } from "./open.ts";
import { checkTwice } from "./twice.ts";
import { checkWaiting } from "./waiting.ts";

export type { Check, Evidence, Letter, Violation } from "./evidence.ts";
export { recoveryTimes } from "./recovery.ts";

export function checkAll(evidence: Evidence): Check[] {
  return [checkLost, checkTwice, checkOpen, checkWaiting, checkMix, checkFenced].map((check) =>
    check(evidence),
  );
}
