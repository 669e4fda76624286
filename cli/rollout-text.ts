/** The history of one rollout, in words. */
import { isOutcome, reasons, usesUpAnAttempt } from "../functions/core/reasons.ts";
import type { Attempt, PastAttempt, RolloutItem } from "../functions/core/rollout/item.ts";
import type { LateResult } from "../functions/core/rollout/late-result.ts";
import { figure, shortSpan, span } from "./format.ts";
import type { Io } from "./io.ts";
import { counted } from "./push/text.ts";
import { printable } from "./terminal-text.ts";

/** A rollout, and the results that came when their attempts were closed. */
export type RolloutTold = RolloutItem & { readonly late?: readonly LateResult[] };

export function rolloutText(item: RolloutTold, { style, now }: Pick<Io, "style" | "now">): string {
  const told = item.history.map((attempt, index) =>
    attemptText(attempt, item.tries - pending(item) - item.history.length + index + 1),
  );
  const parts = [
    style("bold", `Rollout ${printable(item.key)} of fleet ${item.fleet}: ${stateText(item)}`),
    `Task ${printable(item.task_id)}, repeat ${item.repeat}, ${item.episode_type}, on engine ${item.engine}.`,
    `First claimed ${when(item.created_at, now())}, last changed ${when(item.changed_at, now())}.`,
    "",
    ...forgotten(item),
    ...told,
    ...(item.attempt ? [openText(item.attempt, item.tries, now())] : []),
    ...outputText(item),
    ...(item.late ?? []).map(lateText),
    ...afterwards(item),
  ];
  return `${parts.join("\n")}\n`;
}

const pending = (item: RolloutItem): number => (item.attempt ? 1 : 0);

export function stateText({ state, attempts, letter }: RolloutItem): string {
  if (state === "waiting" && letter === "sent") return "sent again as a new message, with a key of its own";
  const used = attempts === 0 ? "" : ` (${attempts} of its attempts used up)`;
  const words: Record<RolloutItem["state"], string> = {
    waiting: `waits in the queue for another attempt${used}`,
    running: `its agent works on an episode${used}`,
    reporting: `its result is stored, and the engine is being told${used}`,
    ended: "ended",
    unknown: "whether the engine took its reward cannot be known",
    lost: "its reward went with a training that ended before its batch",
    dead: `dead${used}`,
  };
  return words[state];
}

function forgotten(item: RolloutItem): string[] {
  const missing = item.tries - pending(item) - item.history.length;
  return missing > 0 ? [`Before these, ${counted(missing, "attempt")} of which nothing is kept.`] : [];
}

function attemptText(attempt: PastAttempt, number: number): string {
  const took = shortSpan(attempt.at - attempt.from);
  const step = attempt.step === null ? "" : ` at step ${attempt.step}`;
  const calls = attempt.calls === undefined ? "" : `, after ${counted(attempt.calls, "model call")}`;
  const lines = [
    `${number}. ${time(attempt.from)}: claimed episode ${printable(attempt.episode)}${step}.`,
    `   ${time(attempt.at)}: ${ending(attempt)} (${attempt.reason}), ${took} later${calls}.`,
    ...(attempt.detail?.split("\n").map((line) => `   ${printable(line)}`) ?? []),
  ];
  return lines.join("\n");
}

function ending({ reason, reward }: PastAttempt): string {
  const penalty = isOutcome(reason) || usesUpAnAttempt(reason) ? "" : ", at no cost to the rollout";
  return `${reasons[reason]}${reward === undefined ? "" : `, ${rewardText(reward)}`}${penalty}`;
}

export function rewardText(reward: PastAttempt["reward"]): string {
  if (typeof reward === "number") return `reward ${figure(reward)}`;
  return reward ? `rewards ${reward.map(figure).join(", ")}` : "no reward";
}

/** What the agent returned beside its reward. */
function outputText({ output }: RolloutItem): string[] {
  if (output === undefined) return [];
  const { metadata = {}, log_metrics = {} } = JSON.parse(output) as Record<string, object>;
  return Object.entries({ metadata, log_metrics })
    .filter(([, entries]) => Object.keys(entries).length > 0)
    .map(([name, entries]) => `   ${name} ${printable(JSON.stringify(entries))}`);
}

function lateText({ episode, at, reward }: LateResult): string {
  return `${time(at)}: the result of episode ${printable(episode)} came too late, ${rewardText(reward)}: it changed nothing.`;
}

function openText(attempt: Attempt, number: number, now: number): string {
  const lines = [
    `${number}. ${time(attempt.claimed_at)}: claimed episode ${printable(attempt.episode)}${attempt.global_step === null ? "" : ` at step ${attempt.global_step}`}, by invocation ${printable(attempt.invocation)}.`,
    ...(attempt.result_at === undefined
      ? []
      : [
          `   ${time(attempt.result_at)}: the result was stored, ${rewardText(attempt.result?.reward ?? null)}.`,
        ]),
    ...(attempt.failure
      ? [
          `   It failed (${attempt.failure.reason}), and its episode could not be given back yet. ${printable(attempt.failure.detail ?? "")}`,
        ]
      : []),
    ...(attempt.gone_since === undefined
      ? []
      : [`   The engine does not show the episode since ${time(attempt.gone_since)}.`]),
    attempt.expires_at > now
      ? `   It is open, and expires in ${span(attempt.expires_at - now)}.`
      : `   It is open, and expired ${span(now - attempt.expires_at)} ago: the next sweep settles it.`,
  ];
  return lines.join("\n");
}

function afterwards({ state, episode_type, confirmed_at: confirmed, letter }: RolloutItem): string[] {
  if (state === "dead") {
    const sent =
      letter === "sent"
        ? "is among the dead letters (sortie dead show)"
        : "is yet to be sent to the dead letters";
    return [`Its message ${sent}.`];
  }
  if (state !== "ended" || episode_type !== "train") return [];
  if (confirmed === undefined) return ["The engine's batch has not shown the reward yet."];
  return confirmed === null
    ? ["The engine's batch never showed the reward: look at the trainer's log."]
    : [`The engine's batch showed the reward at ${time(confirmed)}.`];
}

function time(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

function when(ms: number, now: number): string {
  return `${time(ms)} (${span(now - ms)} ago)`;
}
