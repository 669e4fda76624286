/** Short names of tasks, so that an item that lists thousands of them stays within the table's 400 KB. */
import { shortHash } from "../short-hash.ts";

/** No key is longer; each character is one byte. */
export const LONGEST_TASK_KEY = 24;

/**
 * A task id of up to 24 printable ASCII characters is its own key. A longer one, one with other characters, or one that
 * begins like a hash or like `__proto__`, becomes `#` and 106 bits of hash: two of 10,000 such tasks share a key with a
 * chance of less than 1e-23, and would then count as one.
 */
export function taskKey(taskId: string): string {
  const plain = taskId.length <= LONGEST_TASK_KEY && /^(?!#|__)[\x20-\x7e]+$/.test(taskId);
  return plain ? taskId : `#${shortHash(taskId)}`;
}
