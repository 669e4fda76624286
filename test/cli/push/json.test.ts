import fc from "fast-check";
import { expect, test } from "vitest";
import { changedNumber, parseJson, WrittenNumber } from "../../../cli/push/json.ts";

test("what JSON.parse reads without loss is read as by JSON.parse", () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
      const text = JSON.stringify(value);
      expect(parseJson(text)).toEqual({ value: JSON.parse(text) });
    }),
  );
});

test.each(["9007199254740993", "-12345678901234567890", "1e400", "-1e400", "1e-400"])(
  "%s is kept as it is written",
  (text) => {
    expect(parseJson(`{"n":[${text}]}`)).toEqual({ value: { n: [new WrittenNumber(text)] } });
  },
);

test.each([
  "9007199254740992",
  "100000000000000000000",
  "0.1234567890123456789",
  "0e400",
  "1e300",
  '"1e400"',
  "123456789012345680000",
])("%s is a value like any other", (text) => {
  expect(parseJson(text)).toEqual({ value: JSON.parse(text) });
});

test("a number that would change is told by its way", () => {
  const n = new WrittenNumber("9007199254740993");
  expect(changedNumber({ task_id: "a", metadata: { list: [1, { n }] } })).toBe(
    'metadata.list.1.n: expected a number that every JSON reader keeps, found 9007199254740993: write it as a text, "9007199254740993"',
  );
  expect(changedNumber({ a: [1, "x", null] })).toBeUndefined();
});

test.each(["NaN", "Infinity", "-Infinity"])("%s, which Python writes, is named", (constant) => {
  expect(parseJson(`{"a": ${constant}}`)).toEqual({
    fault: `expected a task as JSON, found ${constant}, which JSON does not have: write null or a text`,
  });
});

test.each([200, 201, 5000, 1_000_000])("%i brackets within each other are read or refused", (depth) => {
  const parsed = parseJson(`{"a":${"[".repeat(depth - 1)}"[[\\\\\\"{{"${"]".repeat(depth - 1)}}`);
  expect("value" in parsed).toBe(depth === 200);
  if ("fault" in parsed) expect(parsed.fault).toBe("expected at most 200 levels of nesting, found more");
});

test("what is no JSON says nothing of itself", () => {
  expect(parseJson('{"a":')).toEqual({ fault: undefined });
});
