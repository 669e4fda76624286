/** How Python writes and reads what the engine sends: its clients see these very words. */

/** `json.dumps`: a space after comma and colon, everything beyond ASCII escaped. */
export function pythonJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(pythonJson).join(", ")}]`;
  if (value !== null && typeof value === "object") {
    const fields = Object.entries(value).filter(([, field]) => field !== undefined);
    return `{${fields.map(([name, field]) => `${ascii(name)}: ${pythonJson(field)}`).join(", ")}}`;
  }
  return typeof value === "string" ? ascii(value) : JSON.stringify(value);
}

function ascii(text: string): string {
  return JSON.stringify(text).replace(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** `f"{value:.1f}"`: a tie goes to the even digit, where `toFixed` rounds up. Only odd quarters can be ties. */
export function oneDecimal(value: number): string {
  const quarters = value * 4;
  if (!Number.isInteger(quarters) || quarters % 2 === 0) return value.toFixed(1);
  const below = Math.floor(value * 10);
  return ((below % 2 === 0 ? below : below + 1) / 10).toFixed(1);
}

/** `type(value).__name__` of a parsed JSON value. */
export function pythonType(value: unknown): string {
  if (value === null) return "NoneType";
  if (Array.isArray(value)) return "list";
  if (typeof value === "string") return "str";
  if (typeof value === "boolean") return "bool";
  if (typeof value === "number") return Number.isInteger(value) ? "int" : "float";
  return "dict";
}

/** A text that is no JSON: Python's message, and the position where it gave up. */
export class JsonFault extends Error {
  readonly position: number;

  constructor(message: string, position: number) {
    super(message);
    this.position = position;
  }
}

const words: readonly (readonly [RegExp, string])[] = [
  [
    /^Expected property name|double-quoted property name/,
    "Expecting property name enclosed in double quotes",
  ],
  [/^Expected ','/, "Expecting ',' delimiter"],
  [/^Expected ':'/, "Expecting ':' delimiter"],
  [/^Unterminated string/, "Unterminated string starting at"],
  [/^Bad control character/, "Invalid control character at"],
  [/^Bad escaped character/, "Invalid \\escape"],
  [/^Unexpected non-whitespace character after JSON/, "Extra data"],
];

/** `json.loads`. @throws JsonFault */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error);
    const message = words.find(([pattern]) => pattern.test(said))?.[1] ?? "Expecting value";
    const ended = said.startsWith("Unexpected end") ? text.length : 0;
    throw new JsonFault(message, Number(/position (\d+)/.exec(said)?.[1] ?? ended));
  }
}
