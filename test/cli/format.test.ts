import { describe, expect, test } from "vitest";
import { figure, span } from "../../cli/format.ts";
import { printable } from "../../cli/terminal-text.ts";

describe("a span of time has its two largest units", () => {
  test.each([
    [0, "0 s"],
    [-5000, "0 s"],
    [999, "0 s"],
    [59_999, "59 s"],
    [60_000, "1 min"],
    [185_000, "3 min 5 s"],
    [7_500_000, "2 h 5 min"],
    [86_400_000 + 59_000, "1 d"],
    [2 * 86_400_000 + 3 * 3_600_000 + 59_000, "2 d 3 h"],
  ])("%d ms", (ms, text) => {
    expect(span(ms)).toBe(text);
  });
});

describe("a figure has four significant digits", () => {
  test.each([
    [null, "–"],
    [0, "0"],
    [1, "1"],
    [2 / 3, "0.6667"],
    [-0.5, "-0.5"],
    [0.000123456, "0.0001235"],
    [123.456, "123.5"],
  ])("%s", (value, text) => {
    expect(figure(value)).toBe(text);
  });
});

test("others' text cannot steer the terminal", () => {
  expect(printable("a\u001b[31mb\nc\u009bd")).toBe("a\ufffd[31mb\ufffdc\ufffdd");
  expect(printable("Aufgabe-π 🙂")).toBe("Aufgabe-π 🙂");
});
