/**
 * Makes text safe to show. Task ids, field names, agents' errors and the engine's words are others' text: a control
 * character of theirs could move the cursor, forge a line, or turn its direction round. Only sequences that the command
 * itself has marked as its own reach a terminal.
 */
import { randomInt } from "node:crypto";

/**
 * Unicode's control characters (C0, DEL, C1), its bidirectional controls (UAX #9), and its line and paragraph separators.
 * Joiners and variation selectors stay: scripts and emoji need them.
 */
const UNSAFE = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;
const REPLACEMENT = "\ufffd";

/** One line of others' text: line breaks and tabs are no more welcome than the rest. */
export function printable(text: string): string {
  return text.toWellFormed().replace(UNSAFE, REPLACEMENT);
}

/** As JSON on a terminal: such characters are escaped, so that the value stays what it is. */
export function safeJson(value: unknown, indent?: number): string {
  const text = JSON.stringify(value, null, indent);
  // Outside of strings, JSON has line feeds alone; inside, it escapes them itself.
  return text.replace(UNSAFE, (character) =>
    character === "\n" ? character : `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** Parameters that nobody can guess, of four digits: whoever measures text takes them for part of a sequence. */
const MARK = `${randomInt(1000, 10_000)};${randomInt(1000, 10_000)};${randomInt(1000, 10_000)}`;
const START = String.raw`\u001b\[`;
const CONTROL_SEQUENCE = new RegExp(String.raw`${START}([\d;]*)([A-Za-z])`, "g");
const MARKED_OR_UNSAFE = new RegExp(
  String.raw`${START}((?:\d+;)*)${MARK}([A-Za-z])|[\n\t]|${UNSAFE.source}`,
  "gu",
);

/** Marks the control sequences of a text as the command's own, so that `terminalText` lets them through. */
export function marked(text: string): string {
  return text.replace(
    CONTROL_SEQUENCE,
    (_, parameters: string, final: string) =>
      `\u001b[${[parameters, MARK].filter(Boolean).join(";")}${final}`,
  );
}

/** Every control character that is not the command's own is replaced; marked sequences stay marked. */
export function withoutForeignControls(text: string): string {
  return replaced(text, (sequence) => sequence);
}

/** What a terminal gets: line breaks, tabs, the command's own sequences, and nothing else that controls it. */
export function terminalText(text: string): string {
  return replaced(text, (_, parameters, final) => `\u001b[${parameters.replace(/;$/, "")}${final}`);
}

function replaced(
  text: string,
  own: (sequence: string, parameters: string, final: string) => string,
): string {
  return text
    .toWellFormed()
    .replace(MARKED_OR_UNSAFE, (found: string, parameters?: string, final?: string) => {
      if (final !== undefined) return own(found, parameters ?? "", final);
      return found === "\n" || found === "\t" ? found : REPLACEMENT;
    });
}
