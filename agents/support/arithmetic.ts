/** Arithmetic on + - * / ( ) and decimals, exact, without `eval`: what it reads was written by a model. */
import { add, divide, fromDecimal, multiply, negate, type Rational, subtract } from "./rational.ts";

/** Bounds work and nesting. */
const LONGEST = 500;
const HINT = "use only numbers, + - * / and parentheses";

/** The expression cannot be computed; the message is meant for the model that wrote it. */
export class ArithmeticError extends Error {
  override readonly name = "ArithmeticError";
}

interface Reader {
  readonly tokens: readonly string[];
  at: number;
}

/** @throws ArithmeticError for what is no expression, divides by zero or is too long. */
export function evaluate(expression: string): Rational {
  if (expression.length > LONGEST) {
    throw new ArithmeticError(`expected at most ${LONGEST} characters, found ${expression.length}`);
  }
  const reader: Reader = { tokens: tokenize(expression), at: 0 };
  const value = sum(reader);
  if (reader.at < reader.tokens.length) throw unexpected(reader, "an operator");
  return value;
}

const typed: Readonly<Record<string, string>> = { "×": "*", "·": "*", "÷": "/", "−": "-" };

function tokenize(expression: string): string[] {
  const plain = expression
    .replace(/[×·÷−]/g, (sign) => typed[sign] ?? sign)
    .replace(/(?<=\d),(?=\d{3}(?!\d))/g, "");
  return plain.match(/\d+(?:\.\d*)?|\.\d+|[^\s\d]/g) ?? [];
}

/** sum = product { ("+" | "-") product } */
function sum(reader: Reader): Rational {
  let value = product(reader);
  for (let operator = take(reader, "+", "-"); operator; operator = take(reader, "+", "-")) {
    value = (operator === "+" ? add : subtract)(value, product(reader));
  }
  return value;
}

/** product = signed { ("*" | "/") signed } */
function product(reader: Reader): Rational {
  let value = signed(reader);
  for (let operator = take(reader, "*", "/"); operator; operator = take(reader, "*", "/")) {
    value = operator === "*" ? multiply(value, signed(reader)) : quotient(value, signed(reader));
  }
  return value;
}

/** signed = ("-" | "+") signed | number | "(" sum ")" */
function signed(reader: Reader): Rational {
  const sign = take(reader, "-", "+");
  if (sign) return sign === "-" ? negate(signed(reader)) : signed(reader);
  if (take(reader, "(")) {
    const value = sum(reader);
    if (!take(reader, ")")) throw unexpected(reader, '")"');
    return value;
  }
  const token = reader.tokens[reader.at];
  if (token === undefined || !/\d/.test(token)) throw unexpected(reader, "a number");
  reader.at += 1;
  return fromDecimal(token);
}

function quotient(over: Rational, under: Rational): Rational {
  if (under.num === 0n) throw new ArithmeticError("division by zero");
  return divide(over, under);
}

function take(reader: Reader, ...wanted: string[]): string | undefined {
  const token = reader.tokens[reader.at];
  if (token === undefined || !wanted.includes(token)) return undefined;
  reader.at += 1;
  return token;
}

function unexpected(reader: Reader, wanted: string): ArithmeticError {
  const token = reader.tokens[reader.at];
  const found = token === undefined ? "the end" : JSON.stringify(token);
  return new ArithmeticError(`expected ${wanted}, found ${found}; ${HINT}`);
}
