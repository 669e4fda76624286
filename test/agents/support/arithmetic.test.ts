import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ArithmeticError, evaluate } from "../../../agents/support/arithmetic.ts";
import { toDecimal } from "../../../agents/support/rational.ts";

const compute = (expression: string) => toDecimal(evaluate(expression));

describe("evaluate", () => {
  test.each([
    ["1 + 2 * 3", "7"],
    ["(1 + 2) * 3", "9"],
    ["10 - 4 - 3", "3"],
    ["24 / 4 / 2", "3"],
    ["2 * -3", "-6"],
    ["-(2 + 3)", "-5"],
    ["--4", "4"],
    ["+4", "4"],
    ["0.1 + 0.2", "0.3"],
    ["1 / 3 * 3", "1"],
    ["1 / 3", "0.333333333333"],
    ["2 / 3", "0.666666666667"],
    ["-2 / 3", "-0.666666666667"],
    ["-1 / 9999999999999", "0"],
    [".5 + 1.", "1.5"],
    ["1,200 * 3", "3600"],
    ["6 × 7 − 2 ÷ 1", "40"],
    ["9007199254740993 + 0", "9007199254740993"],
  ])("%s = %s", (expression, value) => {
    expect(compute(expression)).toBe(value);
  });

  test.each([
    ["", "expected a number, found the end"],
    ["1 +", "expected a number, found the end"],
    ["(1 + 2", 'expected ")", found the end'],
    ["1 2", 'expected an operator, found "2"'],
    ["2 ** 3", 'expected a number, found "*"'],
    ["2 ^ 3", 'expected an operator, found "^"'],
    ["x + 1", 'expected a number, found "x"'],
    ["1)", 'expected an operator, found ")"'],
    ["1.2.3", 'expected an operator, found ".3"'],
    [".", 'expected a number, found "."'],
    ["process.exit()", 'expected a number, found "p"'],
    ["1 / (2 - 2)", "division by zero"],
    ["1".repeat(501), "expected at most 500 characters, found 501"],
  ])("%s is refused", (expression, message) => {
    expect(() => evaluate(expression)).toThrow(ArithmeticError);
    expect(() => evaluate(expression)).toThrow(message);
  });

  test("the deepest nesting that fits is computed", () => {
    expect(compute(`${"(".repeat(249)}1${")".repeat(249)}`)).toBe("1");
  });

  test("agrees with the language's own arithmetic on whole numbers", () => {
    fc.assert(
      fc.property(tree(4), ({ text, value }) => {
        expect(compute(text)).toBe(String(value));
      }),
    );
  });

  test("any text is computed or refused with a word to the model", () => {
    const symbol = fc.constantFrom(..."0123456789.,+-*/() xe^");
    const text = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.array(symbol, { maxLength: 30 }).map((all) => all.join("")),
    );
    fc.assert(
      fc.property(text, (written) => {
        expect(outcome(written)).toMatch(/^(-?\d+(\.\d+)?|expected .*, found .*|division by zero)$/s);
      }),
    );
  });
});

function outcome(written: string): string {
  try {
    return compute(written);
  } catch (error) {
    if (error instanceof ArithmeticError) return error.message;
    throw error;
  }
}

interface Tree {
  readonly text: string;
  readonly value: bigint;
}

/** Expressions in full parentheses, and the value that BigInt arithmetic gives them. */
function tree(depth: number): fc.Arbitrary<Tree> {
  const leaf = fc.bigInt({ min: -999n, max: 999n }).map((value) => ({ text: `${value}`, value }));
  if (depth === 0) return leaf;
  const branch = fc
    .tuple(tree(depth - 1), fc.constantFrom("+", "-", "*"), tree(depth - 1))
    .map(([left, operator, right]) => ({
      text: `(${left.text}) ${operator} (${right.text})`,
      value: apply(operator, left.value, right.value),
    }));
  return fc.oneof(leaf, branch);
}

function apply(operator: string, left: bigint, right: bigint): bigint {
  if (operator === "+") return left + right;
  return operator === "-" ? left - right : left * right;
}
