/** Reads the numbers that language models and datasets write: LaTeX, separators, currencies, units, fractions. */
import { add, divide, equals, fromDecimal, multiply, negate, type Rational, rational } from "./rational.ts";

/** No number of a word problem is longer; it also bounds the work on what a model wrote. */
const LONGEST = 200;

/** In order: each pattern sees what the ones before it left. */
const replacements: readonly (readonly [RegExp, string])[] = [
  [/[\u2212\u2012\u2013]/g, "-"],
  [/\{,\}/g, ","],
  [/\\[dt]?frac\s*\{\s*(-?\d+)\s*\}\s*\{\s*(\d+)\s*\}/g, " $1/$2"],
  [/\\!|\\left|\\right|\\[()[\]]|[{}*]/g, ""],
  [/\\(?:text(?:bf|it|rm)?|math(?:bf|it|rm)?|mbox)(?![a-z])|\\[,;: ]|~/g, " "],
  [/\^?\\circ(?![a-z])/g, "°"],
  [/\\([$%])/g, "$1"],
  [/\s+/g, " "],
];

const digits = String.raw`(?:\d{1,3}(?:,\d{2,3})*,\d{3}|\d{1,3}(?: \d{3})+|\d+)(?!\d)`;
const amount = String.raw`(?:${digits}(?:\.\d*)?|\.\d+)`;
const currency = "[$€£¥₹]";
const units = String.raw`(?:[\p{L}%°²³]|${currency})(?:[\p{L} .,'’/²³%()-]|\^[23])*`;
const pattern = new RegExp(
  `^(?<outer>[-+])? ?${currency}? ?(?<inner>[-+])? ?` +
    String.raw`(?:(?<whole>\d+) (?=\d+\/\d))?(?<over>${amount})(?: ?\/ ?(?<under>${amount}))? ?(?<unit>${units})?$`,
  "u",
);

const multipliers: ReadonlyMap<string, bigint> = new Map([
  ["hundred", 100n],
  ["thousand", 1_000n],
  ["million", 1_000_000n],
  ["billion", 1_000_000_000n],
]);

/** The text without LaTeX, markdown emphasis, a name before `=` and a full stop at the end. */
export function plainText(text: string): string {
  const plain = replacements.reduce((rest, [from, to]) => rest.replace(from, to), text.slice(0, LONGEST + 1));
  return plain
    .slice(plain.lastIndexOf("=") + 1)
    .trim()
    .replace(/^\$ ?([^$]*)\$$/, "$1")
    .replace(/[.,;:!]+$/, "")
    .replace(/^\(([^()]*)\)$/, "$1")
    .trim();
}

/**
 * The one number that a text states, exactly; undefined when it states none or several. A percent sign and units count
 * for nothing (`50%` is 50, as GSM8K has it), words like `million` do.
 */
export function parseNumber(text: string): Rational | undefined {
  if (text.length > LONGEST) return undefined;
  const parts = pattern.exec(plainText(text))?.groups;
  if (parts === undefined) return undefined;
  const { outer, inner, whole = "0", over, under, unit } = parts;
  const part = fraction(over, under);
  if (part === undefined || (outer && inner)) return undefined;
  const size = multiply(add(part, rational(BigInt(whole))), rational(multiplier(unit)));
  return (outer ?? inner) === "-" ? negate(size) : size;
}

/** Whether two answers mean the same: as numbers where both are numbers, else as text without spaces and case. */
export function sameAnswer(found: string, expected: string): boolean {
  const [left, right] = [parseNumber(found), parseNumber(expected)];
  if (left !== undefined && right !== undefined) return equals(left, right);
  return left === right && bare(found) === bare(expected) && bare(found) !== "";
}

function fraction(over = "", under = "1"): Rational | undefined {
  const [left, right] = [over, under].map((part) => fromDecimal(part.replace(/[ ,]/g, "")));
  return left === undefined || right === undefined || right.num === 0n ? undefined : divide(left, right);
}

function multiplier(unit = ""): bigint {
  return multipliers.get(unit.split(" ", 1)[0]?.toLowerCase() ?? "") ?? 1n;
}

/** The whole text, however long: only numbers are bounded. */
function bare(text: string): string {
  const plain = text.length > LONGEST ? text : plainText(text);
  return plain.replace(/\s+/g, "").toLowerCase();
}
