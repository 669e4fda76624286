/**
 * An eval episode is claimed under a name that no train task has. The pool does not tell eval episodes from train ones,
 * and a claim without a name keeps that of the slot's previous holder: either way it would take a place in the batch.
 */
const EVAL_PREFIX = "sortie:eval:";

export function evalName(taskId: string): string {
  return `${EVAL_PREFIX}${taskId}`;
}

export function isEvalName(name: string): boolean {
  return name.startsWith(EVAL_PREFIX);
}
