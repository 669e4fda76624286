/** Exact fractions, so that 0.1 + 0.2 is 0.3 and 1/2 equals 0.5. Always reduced, with a positive denominator. */
export interface Rational {
  readonly num: bigint;
  readonly den: bigint;
}

/** @throws RangeError when `den` is zero. */
export function rational(num: bigint, den = 1n): Rational {
  if (den === 0n) throw new RangeError("division by zero");
  const divisor = den < 0n ? -gcd(num, den) : gcd(num, den);
  return { num: num / divisor, den: den / divisor };
}

export const add = (a: Rational, b: Rational) => rational(a.num * b.den + b.num * a.den, a.den * b.den);
export const subtract = (a: Rational, b: Rational) => add(a, negate(b));
export const multiply = (a: Rational, b: Rational) => rational(a.num * b.num, a.den * b.den);
export const divide = (a: Rational, b: Rational) => rational(a.num * b.den, a.den * b.num);
export const negate = (a: Rational): Rational => ({ num: -a.num, den: a.den });
export const equals = (a: Rational, b: Rational) => a.num === b.num && a.den === b.den;

/** Reads `12`, `1.5`, `12.` or `.5`: no sign, no separators. */
export function fromDecimal(text: string): Rational {
  const [whole = "", decimals = ""] = text.split(".");
  return rational(BigInt(whole + decimals), 10n ** BigInt(decimals.length));
}

/** A plain decimal, rounded half away from zero to `places` decimals; trailing zeros are left out. */
export function toDecimal(value: Rational, places = 12): string {
  const scale = 10n ** BigInt(places);
  const scaled = (2n * magnitude(value.num) * scale + value.den) / (2n * value.den);
  const whole = scaled / scale;
  const decimals = (scaled % scale).toString().padStart(places, "0").replace(/0+$/, "");
  const sign = value.num < 0n && scaled > 0n ? "-" : "";
  return `${sign}${whole}${decimals === "" ? "" : `.${decimals}`}`;
}

function magnitude(value: bigint): bigint {
  return value < 0n ? -value : value;
}

function gcd(a: bigint, b: bigint): bigint {
  let [left, right] = [magnitude(a), magnitude(b)];
  while (right > 0n) [left, right] = [right, left % right];
  return left;
}
