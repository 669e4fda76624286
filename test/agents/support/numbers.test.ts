import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseNumber, sameAnswer } from "../../../agents/support/numbers.ts";
import { toDecimal } from "../../../agents/support/rational.ts";

function read(text: string): string | undefined {
  const value = parseNumber(text);
  return value && toDecimal(value);
}

describe("a number is read as it was meant", () => {
  test.each([
    ["42", "42"],
    [" 42. ", "42"],
    ["42.50", "42.5"],
    [".5", "0.5"],
    ["+3", "3"],
    ["-7", "-7"],
    ["\u22127", "-7"],
    ["- 7", "-7"],
    ["1,234", "1234"],
    ["1,234,567.5", "1234567.5"],
    ["12,34,567", "1234567"],
    ["1 234 567", "1234567"],
    ["1\u00a0234", "1234"],
    ["1\u202f234", "1234"],
    ["1\\,234", "1234"],
    ["1{,}234", "1234"],
    ["10,\\!000", "10000"],
    ["$18", "18"],
    ["\\$18", "18"],
    ["-$5", "-5"],
    ["$-5", "-5"],
    ["€ 5", "5"],
    ["5 €", "5"],
    ["$42$", "42"],
    ["50%", "50"],
    ["50\\%", "50"],
    ["42 apples", "42"],
    ["42\\text{ apples}", "42"],
    ["\\text{42}", "42"],
    ["\\mathrm{42}", "42"],
    ["90^\\circ", "90"],
    ["12\\text{ cm}^2", "12"],
    ["80 km/h", "80"],
    ["2 million", "2000000"],
    ["1.5 thousand dollars", "1500"],
    ["1/2", "0.5"],
    ["\\frac{3}{4}", "0.75"],
    ["-\\dfrac{3}{4}", "-0.75"],
    ["2\\frac{1}{2}", "2.5"],
    ["2 1/2", "2.5"],
    ["x = 42", "42"],
    ["6 * 7 = 42", "42"],
    ["\\left(42\\right)", "42"],
    ["{{42}}", "42"],
    ["**42**", "42"],
    ["007", "7"],
  ])("%j is %s", (text, value) => {
    expect(read(text)).toBe(value);
  });

  test.each([
    "",
    "-",
    "$",
    "abc",
    "42 or 43",
    "3-4",
    "12:30",
    "5\\pi",
    "1e3",
    "12,34",
    "1/0",
    "--4",
    "-$-4",
    "1.2.3",
  ])("%j states no number", (text) => {
    expect(read(text)).toBeUndefined();
  });

  test("what is longer than any answer is no number", () => {
    expect(read("1".repeat(200))).toBe("1".repeat(200));
    expect(read("1".repeat(201))).toBeUndefined();
  });

  test("a whole number reads the same with separators, currency, unit and sign", () => {
    const decorations = [
      (n: bigint) => n.toLocaleString("en-US"),
      (n: bigint) => n.toLocaleString("en-US").replaceAll(",", " "),
      (n: bigint) => `${n}.00`,
      (n: bigint) => `${n < 0n ? "-" : ""}\\$${n < 0n ? -n : n}`,
      (n: bigint) => `${n} \\text{ litres}`,
      (n: bigint) => `\\frac{${n * 3n}}{3}`,
    ];
    const whole = fc.bigInt({ min: -(10n ** 15n), max: 10n ** 15n });
    fc.assert(
      fc.property(whole, fc.constantFrom(...decorations), (n, decorate) => {
        expect(read(decorate(n))).toBe(String(n));
      }),
    );
  });

  test("any text at all is read without an error", () => {
    const alphabet = fc.constantFrom(
      ..."0123456789,. -+$%/{}()\\",
      "\\frac",
      "\\text",
      "=",
      "^",
      "x",
      "\ud800",
    );
    const text = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.array(alphabet, { maxLength: 40 }).map((all) => all.join("")),
    );
    fc.assert(
      fc.property(text, (written) => {
        expect(read(written) ?? "0").toMatch(/^-?\d+(\.\d+)?$/);
      }),
    );
  });
});

describe("two answers are the same", () => {
  test.each([
    ["42", "42.0", true],
    ["0.5", "\\frac{1}{2}", true],
    ["0.1", "0.10000000000000000001", false],
    ["9007199254740993", "9007199254740992", false],
    ["-42", "42", false],
    ["50%", "50", true],
    ["50%", "0.5", false],
    ["5\\pi", "5 \\pi", true],
    ["Monday", "monday.", true],
    ["42", "forty-two", false],
    ["", "", false],
  ])("%j and %j: %s", (found, expected, same) => {
    expect(sameAnswer(found, expected)).toBe(same);
    expect(sameAnswer(expected, found)).toBe(same);
  });
});
