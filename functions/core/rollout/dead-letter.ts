/** A dead letter: the original body, unchanged, and the facts as message attributes, as far as SQS leaves room. */
import { redact } from "../errors.ts";
import type { DeadLetter, QueueRecord } from "../queue.ts";
import type { Reason } from "../reasons.ts";
import type { RolloutItem } from "./item.ts";

/** SQS counts body and attributes (names, types and values) together: 1 MiB. */
export const MESSAGE_LIMIT_BYTES = 1_048_576;

/** SQS takes ten; ours come first, then as many of the message's own as there is room for. */
const MOST_ATTRIBUTES = 10;

export interface DeathFacts {
  readonly reason: Reason;
  readonly error: string;
  readonly fleet: string;
  readonly rollout?: RolloutItem | undefined;
}

/** Names of the attributes that Sortie adds; a redrive takes them off again. */
export const letterAttributes = [
  "reason",
  "error",
  "fleet",
  "rollout",
  "attempts",
  "episodes",
  "died_at",
] as const;

export function deadLetter(record: QueueRecord, facts: DeathFacts, now: number): DeadLetter {
  const wanted: [string, string][] = [
    ["reason", facts.reason],
    ["fleet", facts.fleet],
    ["died_at", new Date(now).toISOString()],
    ...rolloutFacts(facts.rollout),
    ["error", attributeText(redact(facts.error), 1000)],
  ];
  const own = Object.entries(record.attributes).filter(([name]) => !isLetterAttribute(name));
  let room = MESSAGE_LIMIT_BYTES - bytes(record.body);
  const attributes: Record<string, string> = {};
  let free = MOST_ATTRIBUTES;
  for (const [name, value] of [...wanted.filter(([, text]) => text !== ""), ...own]) {
    const size = bytes(name) + bytes("String") + bytes(value);
    if (size > room || free === 0) continue;
    room -= size;
    free -= 1;
    attributes[name] = value;
  }
  return { body: record.body, attributes };
}

export function isLetterAttribute(name: string): boolean {
  return (letterAttributes as readonly string[]).includes(name);
}

function rolloutFacts(rollout: RolloutItem | undefined): [string, string][] {
  if (!rollout) return [];
  const episodes = rollout.history.map((attempt) => attempt.episode).join(",");
  return [
    ["rollout", attributeText(rollout.key, 700)],
    ["attempts", String(rollout.attempts)],
    ["episodes", attributeText(episodes, 1000)],
  ];
}

/** SQS takes tab, newline, return and the characters of XML 1.0; some servers only those of the BMP. */
function attributeText(text: string, limit: number): string {
  return text
    .toWellFormed()
    .replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd]/g, "\ufffd")
    .slice(0, limit);
}

function bytes(text: string): number {
  return new TextEncoder().encode(text).length;
}
