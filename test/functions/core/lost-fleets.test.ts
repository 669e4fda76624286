import { expect, test } from "vitest";
import { lostFleets } from "../../../functions/core/lost-fleets.ts";

test.each([
  { before: ["a"], now: ["a"], retired: [] },
  { before: ["a"], now: ["b", "a"], retired: [] },
  { before: ["a", "b"], now: ["a"], retired: ["b"] },
  { before: [], now: ["a"], retired: ["b"] },
])("%o loses nothing", (change) => {
  expect(lostFleets(change)).toBe(undefined);
});

test("a renamed fleet is refused, with what to do instead", () => {
  expect(lostFleets({ before: ["math", "hard"], now: ["maths", "hard"], retired: ["old"] })).toBe(
    "expected the fleets of the last deployment (math, hard), found none named math. A fleet cannot be renamed: its " +
      "rollouts would stay in a queue that nobody reads. Keep math, add the new name beside it, let the old queue run " +
      'empty; then take the old fleet out and set retiredFleets to ["old","math"].',
  );
});
