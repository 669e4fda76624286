/** `npm pack` compiles into one folder of the checkout: test files that pack do so one after another. */
import { mkdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";

const root = join(import.meta.dirname, "../..");
const lock = join(tmpdir(), `sortie-packing-${root.replaceAll(/[^\w]+/g, "-")}`);
/** Older than any packing: its test file is gone. */
const STALE_MS = 180_000;

export async function packingAlone<T>(pack: () => T): Promise<T> {
  while (!isTaken()) await setTimeout(200);
  try {
    return pack();
  } finally {
    rmSync(lock, { recursive: true, force: true });
  }
}

function isTaken(): boolean {
  try {
    mkdirSync(lock);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    const { mtimeMs } = statSync(lock, { throwIfNoEntry: false }) ?? { mtimeMs: Date.now() };
    if (Date.now() - mtimeMs > STALE_MS) rmSync(lock, { recursive: true, force: true });
    return false;
  }
}
