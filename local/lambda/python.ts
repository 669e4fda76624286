/** The Python that runs functions of a Python runtime here: with AWS's own runtime client, in an environment of its own. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { InputError } from "../input-error.ts";

const run = promisify(execFile);
const PACKAGE = "awslambdaric==4.2.2";

export function isPython(runtime: string | undefined): boolean {
  return runtime?.startsWith("python") ?? false;
}

/** Made once, in the user's cache. Resolves to its interpreter. @throws InputError where it cannot be made */
export async function lambdaPython(python: string, folder = cacheFolder()): Promise<string> {
  const own = join(folder, "bin", "python");
  const marker = join(folder, "bin", "pip-has-awslambdaric");
  if (existsSync(marker)) return own;
  try {
    await run(python, ["-m", "venv", folder]);
    await run(own, ["-m", "pip", "install", "--quiet", PACKAGE]);
    await run(own, ["-c", `import awslambdaric; open(${JSON.stringify(marker)}, "w").close()`]);
    return own;
  } catch (error) {
    throw new InputError(
      `a Lambda function in Python needs ${PACKAGE} in ${folder}, which could not be installed with ${python}: ` +
        `${(error as Error).message.slice(0, 1000)}`,
    );
  }
}

function cacheFolder(): string {
  return join(process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "sortie", "lambda-python");
}
