/** Short names of tasks, so that an item that lists thousands of them stays within the table's 400 KB. */

/** No key is longer; each character is one byte. */
export const LONGEST_TASK_KEY = 24;

/**
 * A task id of up to 24 printable ASCII characters is its own key. A longer one, one with other characters, or one that
 * begins like a hash or like `__proto__`, becomes `#` and 106 bits of hash: two of 10,000 such tasks share a key with a
 * chance of less than 1e-23, and would then count as one.
 */
export function taskKey(taskId: string): string {
  const plain = taskId.length <= LONGEST_TASK_KEY && /^(?!#|__)[\x20-\x7e]+$/.test(taskId);
  return plain ? taskId : `#${hash53(taskId, 1)}${hash53(taskId, 2)}`;
}

/** 53 bits in base 36, always 11 characters. Two multiplicative lanes over UTF-16 units, mixed at the end (cyrb53). */
function hash53(text: string, seed: number): string {
  let a = 0xdeadbeef ^ seed;
  let b = 0x41c6ce57 ^ seed;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    a = Math.imul(a ^ unit, 2654435761);
    b = Math.imul(b ^ unit, 1597334677);
  }
  a = Math.imul(a ^ (a >>> 16), 2246822507) ^ Math.imul(b ^ (b >>> 13), 3266489909);
  b = Math.imul(b ^ (b >>> 16), 2246822507) ^ Math.imul(a ^ (a >>> 13), 3266489909);
  return ((b & 0x1fffff) * 2 ** 32 + (a >>> 0)).toString(36).padStart(11, "0");
}
