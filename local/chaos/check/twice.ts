/** 2. Nothing counts twice: at most one output per rollout, and the table tells the same reward. */
import { type Check, type Evidence, type Output, outputsByRollout, type Violation } from "./evidence.ts";

export function checkTwice(evidence: Evidence): Check {
  const known = new Set(evidence.pushed);
  const byRollout = outputsByRollout(evidence);
  const violations: Violation[] = [];
  let compared = 0;
  for (const [rollout, outputs] of byRollout) {
    if (!known.has(rollout))
      violations.push({ what: `${outputs.length} outputs of nobody's rollout ${rollout}` });
    if (known.has(rollout) && outputs.length > 1) violations.push({ rollout, what: severalOutputs(outputs) });
    const item = evidence.items?.get(rollout);
    const [output] = outputs;
    if (item?.state !== "ended" || outputs.length !== 1 || !output) continue;
    compared += 1;
    const reward = item.history.at(-1)?.reward;
    if (reward !== output.output.reward)
      violations.push({
        rollout,
        what: `the table says reward ${reward}, the engine took ${output.output.reward}`,
      });
  }
  if (evidence.redriven) violations.push(...redriveFaults(evidence.redriven));
  const counts = {
    outputs: sum([...byRollout.values()]),
    rollouts: byRollout.size,
    "rewards compared": compared,
  };
  return { number: 2, title: "nothing counts twice", counts, violations };
}

/** Without a run nobody can tell a message from its copy. */
function redriveFaults({ sends, outcome }: NonNullable<Evidence["redriven"]>): Violation[] {
  if (sends === 1 && outcome === "unsure") return [];
  return [
    { what: `a redrive whose answer was lost: expected 1 sending and unsure, found ${sends} and ${outcome}` },
  ];
}

function severalOutputs(outputs: readonly Output[]): string {
  const places = outputs.map(({ clientUuid, episodeUuid }) => `${episodeUuid} by ${clientUuid}`);
  return `${outputs.length} outputs reached the trainer: ${places.join(", ")}`;
}

function sum(lists: readonly (readonly unknown[])[]): number {
  return lists.reduce((total, { length }) => total + length, 0);
}
