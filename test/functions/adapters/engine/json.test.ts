import { expect, test } from "vitest";
import { parseJson } from "../../../../functions/adapters/engine/json.ts";

test("numbers that JSON has no word for become null, and no text is touched", () => {
  const text = '{"a": [NaN, -Infinity, Infinity, 1], "NaN": "Infinity, \\"NaN\\" \\\\", "b": -1e5}';
  expect(parseJson(text)).toEqual({ a: [null, null, null, 1], NaN: 'Infinity, "NaN" \\', b: -1e5 });
});

test.each(["", "NaN]", "{NaN: 1}", "<p>Infinity</p>", "NaNa"])(
  "what is no JSON for another reason stays none: %s",
  (text) => {
    expect(parseJson(text)).toBeUndefined();
  },
);

test("a name that JavaScript's objects have is one as any other", () => {
  const parsed = parseJson('{"__proto__": [NaN]}');
  expect(Object.entries(parsed ?? {})).toEqual([["__proto__", [null]]]);
});
