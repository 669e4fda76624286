/** The template that a local run is built from: the CDK app itself, synthesised with settings for one machine. */
import { spawn } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { extname, join } from "node:path";
import * as z from "zod";
import { InputError } from "./input-error.ts";

const app = join(import.meta.dirname, `../lib/app${extname(import.meta.filename)}`);
const metadataSchema = z.record(
  z.string(),
  z.array(z.object({ type: z.string(), data: z.unknown().optional() })),
);

/**
 * Runs the app as `cdk synth` would, without the CDK's own command line: in this folder, which relative paths in settings
 * start from. Resolves to its warnings, those of an agent's types among them; with `isStrict` these are errors. If it fails,
 * throws `InputError` with the app's words.
 */
export async function synthesise(
  outDir: string,
  context: Readonly<Record<string, unknown>>,
  isStrict = false,
): Promise<string[]> {
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
  return await warningsIn(outDir);
}

/** What the CDK's own command line would print of an assembly. */
async function warningsIn(outDir: string): Promise<string[]> {
  const files = (await readdir(outDir)).filter((name) => name.endsWith(".metadata.json"));
  const read = async (name: string) =>
    metadataSchema.parse(JSON.parse(await readFile(join(outDir, name), "utf8")));
  const entries = (await Promise.all(files.map(read))).flatMap((constructs) =>
    Object.values(constructs).flat(),
  );
  return entries
    .filter(({ type }) => type === "aws:cdk:warning")
    .map(({ data }) => `warning: ${String(data).replace(/ \[ack: [^\]]*\]$/, "")}`);
}
