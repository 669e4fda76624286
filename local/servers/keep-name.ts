import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

const FILE = "deployment";

/**
 * The random part of the names of this deployment's resources, as CloudFormation adds one: two deployments of one stack
 * name may share an engine, which tells them apart by their tables' names. A kept folder has its own for good. One that
 * is older than this file goes on under its plain names (an empty part): its tables have them.
 */
export async function uniquePart(keepDir: string | undefined): Promise<string> {
  if (keepDir === undefined) return randomPart();
  await mkdir(keepDir, { recursive: true });
  const file = join(keepDir, FILE);
  const part = existsSync(join(keepDir, "tables")) ? "" : randomPart();
  try {
    await writeFile(file, part, { flag: "wx" });
    return part;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    return await readFile(file, "utf8");
  }
}

function randomPart(): string {
  return randomBytes(6).toString("hex").toUpperCase();
}
