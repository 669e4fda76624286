/** 1. Nothing is lost, and nothing but an agent's own reward reaches the trainer. */
import type { RolloutItem } from "../../../functions/core/rollout/item.ts";
import {
  type Check,
  type Evidence,
  type Output,
  outputsByRollout,
  undelivered,
  type Violation,
} from "./evidence.ts";

export function checkLost(evidence: Evidence): Check {
  const outputs = outputsByRollout(evidence);
  const letters = lettersByRollout(evidence);
  const lies = undelivered(evidence);
  const counts = {
    pushed: evidence.pushed.length,
    ended: 0,
    undelivered: 0,
    unknown: 0,
    "with their training": 0,
    dead: 0,
    invalid: 0,
  };
  const violations: Violation[] = [];
  for (const rollout of evidence.pushed) {
    const facts = { outputs: outputs.get(rollout) ?? [], letter: letters?.get(rollout) };
    const fate = fateOf(evidence.items?.get(rollout), { ...facts, isLie: lies.has(rollout) }, evidence);
    if (typeof fate === "object") violations.push({ rollout, ...fate });
    else counts[fate] += 1;
  }
  for (const body of evidence.invalid ?? []) {
    const buried = evidence.letters?.some(
      (letter) => letter.body === body && isNamed(letter, "invalid-message"),
    );
    if (buried) counts.invalid += 1;
    else violations.push({ what: `expected a dead letter for the message ${body}, found none` });
  }
  return {
    number: 1,
    title: "nothing is lost",
    counts,
    violations: [...violations, ...foreignRewards(evidence)],
  };
}

interface Facts {
  readonly outputs: readonly Output[];
  readonly letter: string | undefined;
  /** The engine answered success for an end that it never delivered. */
  readonly isLie: boolean;
}
type Fate = "ended" | "undelivered" | "unknown" | "with their training" | "dead" | { what: string };

function fateOf(item: RolloutItem | undefined, { outputs, letter, isLie }: Facts, evidence: Evidence): Fate {
  if (!evidence.items) {
    if (outputs.length > 0) return "ended";
    return isLie ? "undelivered" : { what: "expected an output at the engine, found none" };
  }
  if (!item) return { what: "expected the rollout in the table, found nothing" };
  if (item.state === "unknown") return "unknown";
  if (item.state === "lost") return "with their training";
  if (item.state === "ended") return ended(item, outputs, isLie);
  if (item.state !== "dead") return { what: `expected a final state, found ${item.state}` };
  if (outputs.length > 0) return { what: "the table says dead, the engine took an output" };
  return letter ? "dead" : { what: "the table says dead, there is no dead letter with a reason" };
}

/** That the engine lied is not Sortie's doing; to have believed it against the pool is. */
function ended({ confirmed_at }: RolloutItem, outputs: readonly Output[], isLie: boolean): Fate {
  if (outputs.length > 0) return "ended";
  if (!isLie) return { what: "the table says ended, the engine has no output" };
  if (typeof confirmed_at === "number") return { what: "the table says confirmed, the trainer never got it" };
  return "undelivered";
}

function lettersByRollout({ letters }: Evidence): Map<string, string> | undefined {
  return (
    letters && new Map(letters.map(({ attributes: { rollout = "", reason = "" } }) => [rollout, reason]))
  );
}

function isNamed(letter: { attributes: Readonly<Record<string, string>> }, reason: string): boolean {
  return letter.attributes["reason"] === reason;
}

/** An agent that tells its reward in `metadata.agent_reward` too, as the chaos agent does, proves that it is its own. */
function foreignRewards(evidence: Evidence): Violation[] {
  return [...outputsByRollout(evidence)].flatMap(([rollout, outputs]) =>
    outputs
      .filter(({ output: { metadata, reward } }) => (metadata["agent_reward"] ?? reward) !== reward)
      .map(({ episodeUuid, output }) => ({
        rollout,
        episode: episodeUuid,
        what: `expected the agent's reward ${output.metadata["agent_reward"]}, the engine took ${output.reward}`,
      })),
  );
}
