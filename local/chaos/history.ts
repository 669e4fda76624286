/** Everything that is known of the rollout behind a violation, in the order of time. */
import type { Evidence, Violation } from "./check/evidence.ts";
import { type LogLine, timeOf } from "./evidence.ts";

const MOST_LINES = 80;

export function historyOf(violation: Violation, evidence: Evidence, log: readonly LogLine[]): string[] {
  const item = violation.rollout === undefined ? undefined : evidence.items?.get(violation.rollout);
  const attempts = [...(item?.history ?? []), ...(item?.attempt ? [item.attempt] : [])];
  const marks = [
    ...attempts.flatMap(({ id, episode }) => [id, episode]),
    ...(violation.rollout === undefined ? [] : [violation.rollout]),
    ...(violation.episode === undefined ? [] : [violation.episode]),
  ];
  if (marks.length === 0) return [];
  const concerns = (text: string) => marks.some((mark) => text.includes(mark));
  const kills = (evidence.kills ?? []).map((kill) => line(kill.at, "killed", kill));
  const lines = [
    ...evidence.ledger.map((entry) => line(entry.at, "engine", entry)).filter(({ text }) => concerns(text)),
    ...kills.filter(({ text }) => attempts.some(({ id }) => text.includes(id.slice(0, id.lastIndexOf("."))))),
    ...log.filter(({ text }) => concerns(text)).map(({ text, facts }) => said(text, timeOf(facts))),
  ];
  const told = lines.toSorted((a, b) => a.at - b.at).map(({ text }) => text);
  return [`table: ${JSON.stringify(item ?? null)}`, ...told.slice(0, MOST_LINES)];
}

function line(at: number, who: string, facts: object): { at: number; text: string } {
  return { at, text: `${new Date(at).toISOString()} ${who}: ${JSON.stringify(facts)}` };
}

function said(text: string, at: number): { at: number; text: string } {
  return { at: Number.isNaN(at) ? 0 : at, text: `function: ${text}` };
}
