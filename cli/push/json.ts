/** JSON of a dataset, read without losing a digit: what JavaScript's numbers cannot hold is kept as it was written. */

/** A number as it is written in the file, where JavaScript would round it. */
export class WrittenNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** Brackets within brackets: more than any dataset needs, and few enough for every reader's stack. */
const DEEPEST = 200;

export type Parsed = { readonly value: unknown } | { readonly fault: string | undefined };

/** The value, or what is wrong where more can be said than that it is no JSON. */
export function parseJson(text: string): Parsed {
  if (depthOf(text) > DEEPEST) return { fault: `expected at most ${DEEPEST} levels of nesting, found more` };
  try {
    return { value: mayRound.test(text) ? parseExactly(text) : JSON.parse(text) };
  } catch {
    const [, constant] = /[:,[]\s*(NaN|-?Infinity)\s*[,}\]]/.exec(text) ?? [];
    if (constant === undefined) return { fault: undefined };
    return {
      fault: `expected a task as JSON, found ${constant}, which JSON does not have: write null or a text`,
    };
  }
}

/** Sixteen digits in a row or an exponent of three: rare, so that most lines are read in the fast way. */
const mayRound = /\d{16}|[eE][+-]?\d{3}/;

/** A reviver's third argument, which the types do not know yet. */
type Reviver = (key: string, value: unknown, context: { readonly source?: string }) => unknown;

function parseExactly(text: string): unknown {
  const reviver: Reviver = (_, value, { source }) =>
    typeof value === "number" && source !== undefined && isRounded(source, value)
      ? new WrittenNumber(source)
      : value;
  return JSON.parse(text, reviver as (key: string, value: unknown) => unknown);
}

/** Whether an integer came out as another one, or a number as infinity or nothing. Decimal fractions are always near. */
function isRounded(source: string, value: number): boolean {
  if (!Number.isFinite(value)) return true;
  if (value === 0) return /^-?[\d.]*[1-9]/.test(source);
  // An integer that is written again as it was read keeps every digit, exact as a float or not.
  return /^-?\d+$/.test(source) && String(value) !== source && BigInt(source) !== BigInt(value);
}

function depthOf(text: string): number {
  let [depth, deepest] = [0, 0];
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if (character === '"') at = endOfString(text, at);
    else if (character === "{" || character === "[") deepest = Math.max(deepest, ++depth);
    else if (character === "}" || character === "]") depth -= 1;
  }
  return deepest;
}

/** Where the string ends whose quote stands at `start`: at a quote with an even number of backslashes before it. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let before = end;
    while (text[before - 1] === "\\") before -= 1;
    if ((end - before) % 2 === 0) return end;
  }
  return text.length;
}

/** The first number that JSON would carry changed, by its way into the value: `metadata.n`. */
export function changedNumber(value: unknown, path = ""): string | undefined {
  if (value instanceof WrittenNumber)
    return `${path}: expected a number that every JSON reader keeps, found ${value.text}: write it as a text, "${value.text}"`;
  if (typeof value !== "object" || value === null) return undefined;
  for (const [name, part] of Object.entries(value)) {
    const found = changedNumber(part, path === "" ? name : `${path}.${name}`);
    if (found !== undefined) return found;
  }
  return undefined;
}
