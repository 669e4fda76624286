/** What an engine, a task or an agent may put into a text, a name or a number. */
import fc from "fast-check";

const nasty = [
  "",
  " ",
  "constructor",
  "toString",
  "hasOwnProperty",
  "__proto__",
  "__defineGetter__",
  "\0",
  "\ud800",
  "a\udfffb",
  "\ufffe",
  "\u{1f600}",
  "語".repeat(512),
  "#",
  "a#b#c",
  "x".repeat(70_000),
];

/** A text of any characters, up to 70,000 of them. */
export const wildText: fc.Arbitrary<string> = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...nasty) },
  { weight: 2, arbitrary: fc.string({ unit: "binary", maxLength: 40 }) },
  { weight: 1, arbitrary: fc.string({ unit: "grapheme", minLength: 500, maxLength: 600 }) },
);

/** A task id that a message may have: it is neither empty nor longer than 512 characters. */
export const wildTask: fc.Arbitrary<string> = wildText.map((text) => text.slice(0, 512) || "t");

/** A finite number; DynamoDB takes up to 9.99e125 and down to 1e-130. */
export const wildNumber: fc.Arbitrary<number> = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.constantFrom(
    0,
    -0,
    1e126,
    -1e126,
    1.7976931348623157e308,
    5e-324,
    -1e-140,
    1e-130,
    2 ** 53 + 2,
    -0.1,
    1 / 3,
  ),
  fc.integer(),
);

/** A number as Python's `json.dumps` writes it, those that are none included. */
export const pythonNumber: fc.Arbitrary<string> = fc.oneof(
  { weight: 4, arbitrary: wildNumber.map((number) => JSON.stringify(number)) },
  { weight: 1, arbitrary: fc.constantFrom("NaN", "Infinity", "-Infinity", "1e999", "-0.0") },
);
