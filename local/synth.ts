/** The template that a local run is built from: the CDK app itself, synthesised with settings for one machine. */
import { spawn } from "node:child_process";
import { extname, join } from "node:path";
import { InputError } from "./input-error.ts";

const app = join(import.meta.dirname, `../lib/app${extname(import.meta.filename)}`);

/**
 * Runs the app as `cdk synth` would, without the CDK's own command line: in this folder, which relative paths in settings
 * start from. Resolves to its warning of an agent's types; with `isStrict` that is an error. If it fails, throws
 * `InputError` with the app's words.
 */
export async function synthesise(
  outDir: string,
  context: Readonly<Record<string, unknown>>,
  isStrict = false,
): Promise<string | undefined> {
  const strict = isStrict ? { SORTIE_STRICT_TYPES: "1" } : {};
  const child = spawn(process.execPath, [app], {
    env: { ...process.env, CDK_OUTDIR: outDir, CDK_CONTEXT_JSON: JSON.stringify(context), ...strict },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let words = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => {
      words += text;
    });
  const code = await new Promise<number | null>((resolve, reject) =>
    child.on("error", reject).on("close", resolve),
  );
  if (code !== 0) throw new InputError(`the CDK app failed (exit code ${code}):\n${words.trim()}`);
  return /^warning: .*types are wrong:(?:\n {2}.*)*/m.exec(words)?.[0];
}
