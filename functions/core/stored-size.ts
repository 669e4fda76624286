/** What DynamoDB counts of an item, and the names that it takes: what an engine or a task chooses must fit in any case. */

/** Of a name within an item; DynamoDB takes 64 KB, but an item must hold many. */
const LONGEST_NAME = 1000;

/** The name under which a table holds `name`: as it is, unless the table or its client would refuse or lose it. */
export function storedName(name: string): string {
  const text = name.toWellFormed();
  if (text === "") return "(empty)";
  if (text === "__proto__") return "(__proto__)";
  if (text.length <= LONGEST_NAME) return text;
  return `${text.slice(0, LONGEST_NAME - 30).toWellFormed()}… (${text.length} characters)`;
}

/** Bytes of an item by DynamoDB's rule, rounded up: UTF-8 of names and texts, digits of numbers, 3 for a list or map and 1 for each part. */
export function itemBytes(item: object): number {
  return Object.entries(item).reduce((sum, [name, value]) => sum + entryBytes(name, value), 0);
}

/** Bytes of one attribute, or of one entry of a map without its 1. */
export function entryBytes(name: string, value: unknown): number {
  return value === undefined ? 0 : textBytes(storedName(name)) + valueBytes(value);
}

function valueBytes(value: unknown): number {
  if (typeof value === "string") return textBytes(value);
  if (typeof value === "number") return numberBytes(value);
  if (typeof value !== "object" || value === null) return 1;
  if (Array.isArray(value)) return value.reduce((sum: number, part) => sum + 1 + valueBytes(part), 3);
  return Object.entries(value).reduce((sum, [name, part]) => sum + 1 + entryBytes(name, part), 3);
}

/** One for two significant digits, and as many for exponent, sign and an odd digit. */
function numberBytes(value: number): number {
  if (Math.abs(value) > 1e125) return 12;
  const digits = String(value)
    .replace(/e.*$|[-.]/g, "")
    .replace(/^0+|0+$/g, "");
  return Math.ceil(digits.length / 2) + 3;
}

const encoder = new TextEncoder();
function textBytes(text: string): number {
  return encoder.encode(text).length;
}
