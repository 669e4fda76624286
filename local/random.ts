/** Randomness from a seed: the same parts give the same numbers on every machine. Not for secrets. */
import type { Random } from "../functions/core/clock.ts";

/** A generator (mulberry32) that is seeded by all its parts together, in order. */
export function createRandom(...parts: readonly (string | number)[]): Random {
  let state = hash(JSON.stringify(parts));
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A 32-bit hash (FNV-1a, then murmur3's finish, so that texts that differ in one letter are far apart). */
export function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) value = Math.imul(value ^ text.charCodeAt(at), 0x01000193);
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35);
  return (value ^ (value >>> 16)) >>> 0;
}

/** A whole number from `low` to `high`, both included. */
export function integer(random: Random, low: number, high: number): number {
  return low + Math.floor(random() * (high - low + 1));
}

/** @throws RangeError when there is nothing to pick from. */
export function pick<Item>(random: Random, items: readonly Item[]): Item {
  const at = Math.floor(random() * items.length);
  if (items.length === 0) throw new RangeError("expected at least one item to pick from, found none");
  return items[at] as Item;
}
