import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { SettingsError } from "../../../functions/contract/settings-error.ts";
import {
  describeError,
  EngineError,
  InvalidMessageError,
  redact,
  shorten,
} from "../../../functions/core/errors.ts";

const key = "sk-ajet-eyJhZ2VudF9uYW1lIjoiYWpldCJ9+/==";

describe("a secret", () => {
  test.each([
    [`api_key=${key}`, "api_key=sk-***"],
    [`"${key}"`, '"sk-***"'],
    [JSON.stringify(`line\n${key}`), String.raw`"line\nsk-***"`],
    [`Authorization: Bearer ${key}, next`, "Authorization: Bearer *** next"],
    ["bearer abc.def", "bearer ***"],
    ["two: sk-proj-12345 sk-live_12345", "two: sk-*** sk-***"],
    [`glued${key}`, "gluedsk-***"],
  ])("is not left in %j", (text, redacted) => {
    expect(redact(text)).toBe(redacted);
  });

  test.each(["task-2024", "no space left on disk-0001", "risk-averse policy", "sk-", "ask-me"])(
    "is not seen in %j",
    (text) => {
      expect(redact(text)).toBe(text);
    },
  );

  test("never comes out of a described error, wherever its text is cut", () => {
    // What is looked for must come from the key alone.
    const others = fc.string({ maxLength: 30 }).filter((text) => !text.includes("eyJ"));
    fc.assert(
      fc.property(others, others, fc.nat(90), (before, after, limit) => {
        expect(describeError(new Error(`${before} ${key}${after}`), limit)).not.toContain("eyJ");
      }),
    );
  });
});

describe("the words of what was thrown", () => {
  test.each([
    [new TypeError("bad"), "TypeError: bad"],
    [new InvalidMessageError("no"), "InvalidMessageError: no"],
    ["text", "text"],
    [undefined, "undefined"],
    [Symbol("s"), "Symbol(s)"],
    [Object.create(null), "an error that cannot be put into words"],
    [
      Object.defineProperty(new Error("x"), "message", {
        get: () => {
          throw new Error("from the getter");
        },
      }),
      "an error that cannot be put into words",
    ],
  ])("case %#", (thrown, words) => {
    expect(describeError(thrown)).toBe(words);
  });

  test("are bounded and hold no half character", () => {
    expect(describeError("ab🙂", 3)).toBe("ab\ufffd");
    expect(describeError("\ud800")).toBe("\ufffd");
    expect(describeError("x".repeat(5000))).toHaveLength(1000);
  });

  test("shorten leaves alone what is short enough", () => {
    expect(shorten("ab🙂", 4)).toBe("ab🙂");
  });
});

test("an engine's error says which call failed, how, and what the engine said", () => {
  const error = new EngineError({
    failure: "refused",
    call: "end_episode",
    status: 400,
    detail: "not found",
  });
  expect([error.name, error.code, error.message]).toEqual([
    "EngineError",
    "engine-refused",
    "end_episode refused with HTTP 400: not found",
  ]);
});

test("a settings error shows every fault on a line of its own", () => {
  expect(new SettingsError(["a: b", "c: d"], "the settings are wrong").message).toBe(
    "the settings are wrong:\n  - a: b\n  - c: d",
  );
});
