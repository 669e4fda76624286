import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { InputError } from "../input-error.ts";

/**
 * Makes this process the only one that uses a kept directory, until `release` or its death. The lock is the operating
 * system's, taken by SQLite: nothing stale stays behind after a crash. (LevelDB would refuse too, but dynalite makes
 * that an uncaught exception.)
 */
export function lockDirectory(directory: string): { release(): void } {
  const database = new DatabaseSync(join(directory, "lock"), { timeout: 0 });
  try {
    database.exec("BEGIN EXCLUSIVE");
  } catch (cause) {
    database.close();
    throw new InputError(
      `Expected ${directory} to be free, found it in use by another run. Stop that run, or keep this one elsewhere.`,
      { cause },
    );
  }
  return { release: () => database.close() };
}
