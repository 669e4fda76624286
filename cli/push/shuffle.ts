/** The numbers from 0 to `count` - 1 in an order that the seed gives: the same seed, the same order, everywhere. */
export function shuffled(count: number, seed: number): Uint32Array {
  const random = mulberry32(seed);
  const order = Uint32Array.from({ length: count }, (_, index) => index);
  // Fisher and Yates.
  for (let last = count - 1; last > 0; last -= 1) {
    const other = Math.floor(random() * (last + 1));
    const [a = 0, b = 0] = [order[last], order[other]];
    order[last] = b;
    order[other] = a;
  }
  return order;
}

/** Tommy Ettinger's mulberry32: 32 bits of state, each number in [0, 1). */
function mulberry32(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
