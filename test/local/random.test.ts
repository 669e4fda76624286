import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createRandom, hash, integer, pick } from "../../local/random.ts";

function take(count: number, ...parts: (string | number)[]): number[] {
  const random = createRandom(...parts);
  return Array.from({ length: count }, random);
}

describe("createRandom", () => {
  test("gives the same numbers for the same parts, on every machine", () => {
    expect(take(3, "sortie", 1)).toEqual(take(3, "sortie", 1));
    expect(take(3, "sortie", 1).map((number) => number.toFixed(6))).toEqual([
      "0.388205",
      "0.650136",
      "0.395397",
    ]);
  });

  test.each<[(string | number)[], (string | number)[]]>([
    [
      ["a", 1],
      ["a", 2],
    ],
    [
      ["a", 1],
      [1, "a"],
    ],
    [
      ["ab", "c"],
      ["a", "bc"],
    ],
    [["1"], [1]],
  ])("%j and %j give different numbers", (left, right) => {
    expect(take(4, ...left)).not.toEqual(take(4, ...right));
  });

  test("spreads evenly over [0, 1)", () => {
    const counts = Array<number>(10).fill(0);
    for (const number of take(100_000, "spread")) {
      const bin = Math.floor(number * 10);
      counts[bin] = (counts[bin] ?? 0) + 1;
    }
    expect(counts).toHaveLength(10);
    for (const count of counts) expect(Math.abs(count - 10_000)).toBeLessThan(500);
  });

  test("the first numbers of neighbouring seeds are spread as well", () => {
    const firsts = Array.from({ length: 10_000 }, (_, seed) => createRandom(seed)());
    const mean = firsts.reduce((sum, number) => sum + number, 0) / firsts.length;
    expect(Math.abs(mean - 0.5)).toBeLessThan(0.02);
  });
});

test("an integer is between its bounds, and reaches both", () => {
  fc.assert(
    fc.property(fc.integer(), fc.integer({ min: -50, max: 50 }), fc.nat({ max: 3 }), (seed, low, span) => {
      const random = createRandom(seed);
      const drawn = new Set(Array.from({ length: 200 }, () => integer(random, low, low + span)));
      expect([...drawn].sort((a, b) => a - b)).toEqual(Array.from({ length: span + 1 }, (_, at) => low + at));
    }),
  );
});

test("pick reaches every item, and refuses an empty list", () => {
  const random = createRandom("pick");
  expect(new Set(Array.from({ length: 100 }, () => pick(random, ["a", "b", "c"])))).toEqual(
    new Set(["a", "b", "c"]),
  );
  expect(() => pick(random, [])).toThrow("expected at least one item");
});

test("hash is a 32-bit number that differs for texts that hardly do", () => {
  const hashes = Array.from({ length: 10_000 }, (_, at) => hash(`task-${at}`));
  expect(new Set(hashes).size).toBeGreaterThan(9_990);
  expect(hashes.every((value) => Number.isInteger(value) && value >= 0 && value < 2 ** 32)).toBe(true);
});
