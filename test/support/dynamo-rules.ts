/**
 * What DynamoDB refuses of an item, by its documentation ("Constraints in Amazon DynamoDB", "DynamoDB item sizes and
 * formats"): the local server lets much of it through.
 */
import type { AttributeValue } from "@aws-sdk/client-dynamodb";

export type Item = Readonly<Record<string, AttributeValue>>;

const ITEM_BYTES = 409_600;
const NAME_BYTES = 65_535;
const MOST_LEVELS = 32;
const keyBytes = { pk: 2048, sk: 1024, open_engine: 2048, changed_fleet: 2048 };
const numberKeys = ["open_until", "changed_at"];

/** Nothing where DynamoDB takes the item. */
export function refusals(item: Item): string[] {
  const bytes = sizeOf(item);
  return [
    ...(bytes > ITEM_BYTES ? [`the item has ${bytes} bytes`] : []),
    ...Object.entries(item).flatMap(([name, value]) => [...nameFaults(name), ...valueFaults(value, name, 1)]),
    ...Object.entries(keyBytes).flatMap(([name, limit]) => keyFaults(item[name], name, limit)),
    ...numberKeys.flatMap((name) =>
      item[name] && item[name].N === undefined ? [`${name} is no number`] : [],
    ),
  ];
}

export function sizeOf(item: Item): number {
  return Object.entries(item).reduce((sum, [name, value]) => sum + utf8(name) + valueSize(value), 0);
}

function valueSize(value: AttributeValue): number {
  if (value.S !== undefined) return utf8(value.S);
  if (value.N !== undefined) return numberSize(value.N);
  if (value.L) return value.L.reduce((sum, part) => sum + 1 + valueSize(part), 3);
  if (value.M)
    return Object.entries(value.M).reduce((sum, [name, part]) => sum + 1 + utf8(name) + valueSize(part), 3);
  return 1;
}

/** "About (1 byte per two significant digits) + (1 byte)", and one for a minus sign; an odd exponent takes half a byte more. */
function numberSize(text: string): number {
  const { digits, exponent, isNegative } = parts(text);
  return Math.ceil((digits.length + (exponent % 2 === 0 ? 0 : 1)) / 2) + 1 + (isNegative ? 1 : 0);
}

function valueFaults(value: AttributeValue, path: string, level: number): string[] {
  if (level > MOST_LEVELS + 1) return [`${path}: nested deeper than ${MOST_LEVELS} levels`];
  if (value.S !== undefined) return value.S.isWellFormed() ? [] : [`${path}: half a surrogate pair`];
  if (value.N !== undefined) return numberFaults(value.N, path);
  if (value.L) return value.L.flatMap((part, index) => valueFaults(part, `${path}[${index}]`, level + 1));
  if (!value.M) return value.BOOL === undefined && value.NULL !== true ? [`${path}: no type`] : [];
  return Object.entries(value.M).flatMap(([name, part]) => [
    ...nameFaults(name),
    ...valueFaults(part, `${path}.${name.slice(0, 20)}`, level + 1),
  ]);
}

function nameFaults(name: string): string[] {
  if (name === "") return ["an empty name"];
  // No rule of DynamoDB's: the SDK's own objects lose it.
  if (name === "__proto__") return ["a name that the SDK loses"];
  if (!name.isWellFormed()) return ["a name with half a surrogate pair"];
  return utf8(name) > NAME_BYTES ? [`a name of ${utf8(name)} bytes`] : [];
}

function keyFaults(value: AttributeValue | undefined, name: string, limit: number): string[] {
  if (!value) return name === "pk" || name === "sk" ? [`${name} is missing`] : [];
  const bytes = utf8(value.S ?? "");
  return bytes >= 1 && bytes <= limit ? [] : [`${name} has ${bytes} bytes`];
}

/** Up to 38 digits, zero or between 1e-130 and 9.9999999999999999999999999999999999999e125 on both sides. */
function numberFaults(text: string, path: string): string[] {
  if (!/^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(text)) return [`${path}: no number: ${text}`];
  const { digits, exponent } = parts(text);
  if (digits === "") return [];
  if (digits.length > 38) return [`${path}: more than 38 digits`];
  return exponent > 125 || exponent < -130 ? [`${path}: out of range: ${text}`] : [];
}

/** Significant digits, and the power of ten of the first one. */
function parts(text: string): { digits: string; exponent: number; isNegative: boolean } {
  const [mantissa = "", power = "0"] = text.replace(/^-/, "").split(/[eE]/);
  const [whole = "", fraction = ""] = mantissa.split(".");
  const all = `${whole}${fraction}`;
  const leading = /^0*/.exec(all)?.[0].length ?? 0;
  const digits = all.slice(leading).replace(/0+$/, "");
  return { digits, exponent: whole.length - 1 - leading + Number(power), isNegative: text.startsWith("-") };
}

function utf8(text: string): number {
  return Buffer.byteLength(text);
}
