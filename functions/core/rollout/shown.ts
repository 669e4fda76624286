/** Words for a value that an agent gave: what it is, and as much of it as says what is wrong, never a long text. */
import { redact } from "../errors.ts";

const LONGEST_TEXT = 24;
const MOST_ELEMENTS = 5;

/** `NaN`, `"1"`, `undefined`, `[1, "a", …]`, `an object`; a text of more than 24 characters by its length alone. */
export function shown(value: unknown): string {
  if (typeof value === "string") return shownText(value);
  if (typeof value === "bigint")
    return value < 10n ** 24n && value > -(10n ** 24n) ? `${value}n` : "a bigint";
  if (typeof value === "function" || typeof value === "symbol") return `a ${typeof value}`;
  if (Array.isArray(value)) return shownList(value);
  if (typeof value === "object" && value !== null) return "an object";
  return Object.is(value, -0) ? "-0" : String(value);
}

function shownText(text: string): string {
  if (text.length > LONGEST_TEXT) return `a text of ${text.length} characters`;
  return JSON.stringify(redact(text.toWellFormed()));
}

function shownList(list: readonly unknown[]): string {
  const some = list.slice(0, MOST_ELEMENTS).map((part) => (Array.isArray(part) ? "[…]" : shown(part)));
  return `[${[...some, ...(list.length > MOST_ELEMENTS ? ["…"] : [])].join(", ")}]`;
}
