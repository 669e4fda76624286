/** Conversions and complaints that no recorded situation shows; as pydantic 2 documents them. */
import { expect, test } from "vitest";
import { canContinueBody, isClaimedBody } from "../../../local/engine/bodies.ts";
import { episodeOfKey } from "../../../local/engine/key.ts";
import { oneDecimal, pythonJson } from "../../../local/engine/python.ts";
import { readBody } from "../../../local/engine/request-body.ts";
import {
  bool,
  type Check,
  type Detail,
  float,
  floats,
  int,
  list,
  unfit,
} from "../../../local/engine/validation.ts";

test.each<[string, Check<unknown>, unknown, unknown]>([
  ["a word as a boolean", bool, "Yes", true],
  ["zero as a boolean", bool, 0, false],
  ["a number with an empty fraction as an integer", int, 3.0, 3],
  ["digits as an integer", int, " -12 ", -12],
  ["a boolean as a number", float, true, 1],
  ["a numeric text as a number", float, "1e3", 1000],
  ["a list of numeric texts", floats, ["1", 2], [1, 2]],
])("accepts %s", (_, check, value, expected) => {
  const details: Detail[] = [];
  expect(check(value, [], details)).toEqual(expected);
  expect(details).toEqual([]);
});

test.each<[string, Check<unknown>, unknown, readonly [string, readonly (string | number)[]][]]>([
  ["a list as a boolean", bool, [], [["bool_type", []]]],
  ["two as a boolean", bool, 2, [["bool_parsing", []]]],
  ["letters as an integer", int, "x", [["int_parsing", []]]],
  ["an object as an integer", int, {}, [["int_type", []]]],
  ["an empty text as a number", float, "", [["float_parsing", []]]],
  [
    "every bad item of a list",
    list(float),
    ["a", 1, null],
    [
      ["float_parsing", [0]],
      ["float_type", [2]],
    ],
  ],
  [
    "a mixed list",
    floats,
    [1, "a"],
    [
      ["float_type", ["float"]],
      ["float_parsing", ["list[float]", 1]],
    ],
  ],
])("refuses %s", (_, check, value, expected) => {
  const details: Detail[] = [];
  expect(check(value, [], details)).toBe(unfit);
  expect(details.map(({ type, loc }) => [type, loc])).toEqual(expected);
});

test("a body without a content type, or of a JSON subtype, is read as JSON", () => {
  const body = '{"client_uuid":"c","episode_uuid":"e"}';
  expect(readBody(canContinueBody, body, undefined)).toEqual({ client_uuid: "c", episode_uuid: "e" });
  expect(readBody(canContinueBody, body, "application/vnd.x+json; charset=utf-8")).toMatchObject({
    client_uuid: "c",
  });
});

test.each([
  ["null", "missing", ["body"]],
  ['{"a":1', "json_invalid", ["body", 6]],
  ['{"a" 1}', "json_invalid", ["body", 5]],
])("a body %s is refused as %s", (body, type, loc) => {
  const refusal = { status: 422, detail: [expect.objectContaining({ type, loc })] };
  const read = () => readBody(isClaimedBody, body, "application/json");
  expect(read).toThrow(expect.objectContaining(refusal));
});

test.each([
  ["Bearer sk-ajet-abc", "Incorrect padding"],
  ["Bearer sk-ajet-abcde", "number of data characters (5) cannot be 1 more than a multiple of 4"],
  ["Bearer sk-ajet-Mw==", "'int' object has no attribute 'get'"],
])("a key %s is refused: %s", (authorization, why) => {
  expect(() => episodeOfKey(authorization)).toThrow(why);
});

test.each([
  [0.25, "0.2"],
  [0.75, "0.8"],
  [30.25, "30.2"],
  [0.15, "0.1"],
  [-0.25, "-0.2"],
  [240, "240.0"],
])("%d is written as Python does: %s", (value, written) => {
  expect(oneDecimal(value)).toBe(written);
});

test("JSON is written as Python does", () => {
  expect(pythonJson({ a: [1, null, "é😀"], b: { c: true }, d: undefined })).toBe(
    '{"a": [1, null, "\\u00e9\\ud83d\\ude00"], "b": {"c": true}}',
  );
});
