/** Keys of what belongs to an engine. */
import type { Key } from "./client.ts";

export const desiredKey = (engine: string): Key => ({ pk: `ENGINE#${engine}`, sk: "DESIRED" });
export const observedKey = (engine: string): Key => ({ pk: `ENGINE#${engine}`, sk: "OBSERVED" });
export const agreeKey = (engine: string): Key => ({ pk: `ENGINE#${engine}`, sk: "AGREE" });
export const engineLogKey = (engine: string): Key => ({ pk: `ENGINE#${engine}`, sk: "LOG" });
export const codeKey = (engine: string, sha256: string, part: number): Key => ({
  pk: `ENGINE#${engine}`,
  sk: `CODE#${sha256}#${part}`,
});
