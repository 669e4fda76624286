import { type BuildOptions, build } from "esbuild";

/** undici and CommonJS packages require Node's own modules, which an ES module cannot by itself. */
const requireThere = "import{createRequire}from'node:module';const require=createRequire(import.meta.url);";

/**
 * A program as one file that Node.js runs, without the CDK. `agent` is the file of the agent for an entry of the functions.
 *
 * @throws BuildFailure of esbuild, which has told it already unless `options` say otherwise
 */
export async function bundle(
  entry: string,
  outfile: string,
  { agent, ...options }: BuildOptions & { readonly agent?: string } = {},
): Promise<void> {
  await build({
    entryPoints: [entry],
    outfile,
    bundle: true,
    platform: "node",
    format: "esm",
    ...(agent !== undefined && { alias: { "#agent": agent } }),
    banner: { js: requireThere },
    logLevel: "error",
    ...options,
  });
}
