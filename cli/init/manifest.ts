/** The package.json of a project that `sortie init` makes. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { packageRoot } from "../../functions/entries.ts";

const ownSchema = z.object({ devDependencies: z.record(z.string(), z.string()) });
/** What deploys, bundles, checks and runs a project, in the versions that Sortie is made with. */
const tools = ["@types/node", "aws-cdk", "aws-cdk-lib", "constructs", "esbuild", "node", "typescript"];

/**
 * `sortie` from its tarball, and the tools; `node` is Node.js as Lambda has it, which npm's scripts and npx then run.
 * `allowScripts` says which packages may run scripts at installation, as newer npms ask.
 */
export function projectManifest(name: string, tarball: string): object {
  const text = readFileSync(join(packageRoot, "package.json"), "utf8");
  const { devDependencies } = ownSchema.parse(JSON.parse(text));
  return {
    name,
    private: true,
    type: "module",
    scripts: {
      start: "sortie start --tasks tasks.jsonl",
      test: 'node --test "test/*.test.ts"',
      types: "tsc",
      synth: "cdk synth --quiet -c engineUrl=http://10.0.0.7:10086",
    },
    dependencies: { sortie: `file:${tarball}` },
    devDependencies: Object.fromEntries(tools.map((tool) => [tool, devDependencies[tool] ?? "*"])),
    allowScripts: { node: true, esbuild: true, fauxqs: false, "classic-level": false },
  };
}
