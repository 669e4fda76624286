/** Dead letters in words. */
import { firstOfTrace } from "../../functions/core/error-trace.ts";
import { figure } from "../format.ts";
import type { Io, Style } from "../io.ts";
import { counted } from "../push/text.ts";
import { figuresTable, labelledTable } from "../tables.ts";
import { printable } from "../terminal-text.ts";
import { type LetterFacts, meaningOf } from "./letter.ts";

export interface Group {
  readonly reason: string;
  readonly meaning: string;
  count: number;
  /** ISO 8601. */
  oldest: string;
  newest: string;
  /** The error of the newest that has one. */
  error: string;
}

export function addToGroups(groups: Map<string, Group>, facts: LetterFacts): void {
  const { reason, died_at: at, error } = facts;
  const group = groups.get(reason);
  if (!group) {
    groups.set(reason, { reason, meaning: meaningOf(reason), count: 1, oldest: at, newest: at, error });
    return;
  }
  group.count += 1;
  if (at < group.oldest) group.oldest = at;
  if (at >= group.newest) {
    group.newest = at;
    group.error = error || group.error;
  }
}

export function groupsText(fleet: string, groups: readonly Group[], style: Style): string {
  const total = groups.reduce((sum, { count }) => sum + count, 0);
  if (total === 0) return `Fleet ${fleet} has no dead letters.\n`;
  const rows = groups.map(
    ({ reason, count, oldest, newest }) =>
      [printable(reason), [figure(count), minute(oldest), minute(newest)]] as const,
  );
  const details = groups.map(
    ({ reason, meaning, error }) =>
      `${style("bold", printable(reason))}: ${meaning}${error ? `. The last: ${printable(firstOfTrace(error))}` : ""}`,
  );
  const head = style("bold", `Fleet ${fleet}: ${counted(total, "dead letter")}`);
  return `${[head, figuresTable(["letters", "oldest", "newest"], rows, style), ...details, NEXT].join("\n")}\n`;
}

const NEXT =
  "\nsortie dead show has each one; sortie dead redrive sends them back, sortie dead purge removes them.";

function minute(iso: string): string {
  return printable(iso).slice(0, 16).replace("T", " ");
}

/** SQS holds a million characters; a terminal is for the first of them. */
const BODY_LENGTH = 600;

export function letterText(
  facts: LetterFacts,
  body: string | undefined,
  io: Pick<Io, "style" | "columns">,
): string {
  const rows = [
    ["message", facts.message_id],
    ["rollout", facts.rollout ?? "none: the message is no rollout"],
    ["reason", `${facts.reason}: ${meaningOf(facts.reason)}`],
    ["error", facts.error || "none"],
    ["attempts", facts.attempts === null ? "not told" : String(facts.attempts)],
    ["episodes", facts.episodes.join(" ") || "none"],
    ["died at", facts.died_at],
    ...(body === undefined ? [] : [["body", shortened(body)]]),
  ] as [string, string][];
  return `${labelledTable(
    rows.map(([label, text]) => [label, text.split("\n").map(printable).join("\n")] as const),
    io.style,
    io.columns,
  )}\n`;
}

function shortened(body: string): string {
  const rest = body.length - BODY_LENGTH;
  return rest > 0
    ? `${body.slice(0, BODY_LENGTH).toWellFormed()}… (${rest} characters more; --json has all)`
    : body;
}
