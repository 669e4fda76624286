/**
 * The stack's template for tests that need its queues and its table alone. Loading the CDK takes seconds and memory, so it
 * is synthesised once, in a process of its own, and kept for as long as what it is made of stays the same.
 */
import { createHash } from "node:crypto";
import { existsSync, globSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { synthesise } from "../../local/synth.ts";
import { readTemplate, type Template } from "../../local/template/template.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const folder = join(root, "node_modules", ".cache", "sortie-template");
const sources = [
  "lib/**/*.ts",
  "functions/**/*.ts",
  "agents/**/*.ts",
  "local/synth.ts",
  "cdk.json",
  "package.json",
];
const context = { engineUrl: "http://10.0.0.7:10086", "aws:cdk:bundling-stacks": [] };

export async function stackTemplate(): Promise<Template> {
  const kept = join(folder, await hashOfSources());
  if (!existsSync(kept)) await make(kept);
  return await readTemplate(kept);
}

/** Other files of tests may be at it as well: the first one stands, and all are the same. */
async function make(kept: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const made = await mkdtemp(join(folder, "new-"));
  await synthesise(made, context);
  await rename(made, kept).catch(() => rm(made, { recursive: true }));
}

async function hashOfSources(): Promise<string> {
  const hash = createHash("sha256");
  const files = globSync(sources, { cwd: root }).toSorted();
  for (const file of files) hash.update(`${file}\n`).update(await readFile(join(root, file)));
  return hash.digest("hex").slice(0, 16);
}
