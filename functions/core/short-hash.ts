/** Short names for what is long or has wild characters. */

/** 53 bits in base 36, always 11 characters. Two multiplicative lanes over UTF-16 units, mixed at the end (cyrb53). */
function hash53(text: string, seed: number): number {
  let a = 0xdeadbeef ^ seed;
  let b = 0x41c6ce57 ^ seed;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    a = Math.imul(a ^ unit, 2654435761);
    b = Math.imul(b ^ unit, 1597334677);
  }
  a = Math.imul(a ^ (a >>> 16), 2246822507) ^ Math.imul(b ^ (b >>> 13), 3266489909);
  b = Math.imul(b ^ (b >>> 16), 2246822507) ^ Math.imul(a ^ (a >>> 13), 3266489909);
  return (b & 0x1fffff) * 2 ** 32 + (a >>> 0);
}

/** 106 bits in base 36, always 22 characters. */
export function shortHash(text: string): string {
  const part = (seed: number) => hash53(text, seed).toString(36).padStart(11, "0");
  return `${part(1)}${part(2)}`;
}

/** A number in [0, 1) that is the same for the same text. */
export function hashedShare(text: string): number {
  return hash53(text, 3) / 2 ** 53;
}
