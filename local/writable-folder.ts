import { access, constants, mkdir } from "node:fs/promises";
import { InputError } from "./input-error.ts";

/**
 * Makes the folder where there is none. `who` asked for it, and `remedy` says what to do.
 *
 * @throws InputError where nothing can be written there
 */
export async function needWritable(folder: string, who: string, remedy: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true });
    await access(folder, constants.W_OK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new InputError(
      `${who}: expected a folder that can be written to at ${folder}, found none (${code}): ${remedy}`,
    );
  }
}
