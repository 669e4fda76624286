import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import * as z from "zod";

/** A resource of a CloudFormation template, its intrinsic functions unresolved. */
export interface Resource {
  readonly Type: string;
  readonly Properties?: Readonly<Record<string, unknown>> | undefined;
}

/** One stack of a CDK cloud assembly, as `cdk synth` wrote it. */
export interface Assembly {
  readonly stackName: string;
  /** The random part of the names that CloudFormation would make; empty for none. */
  readonly uniquePart: string;
  readonly resources: Readonly<Record<string, Resource>>;
  /** Defaults of the template's parameters. */
  readonly parameters: Readonly<Record<string, string>>;
  /** Directories of the stack's code, by the key under which they would be uploaded. */
  readonly assets: ReadonlyMap<string, string>;
}

const manifestSchema = z.object({
  artifacts: z.record(
    z.string(),
    z.object({
      type: z.string(),
      properties: z
        .object({ templateFile: z.string(), file: z.string(), stackName: z.string() })
        .partial()
        .optional(),
    }),
  ),
});
const templateSchema = z.object({
  Resources: z.record(
    z.string(),
    z.object({ Type: z.string(), Properties: z.record(z.string(), z.unknown()).optional() }),
  ),
  Parameters: z.record(z.string(), z.object({ Default: z.unknown().optional() })).default({}),
});
const assetsSchema = z.object({
  files: z
    .record(
      z.string(),
      z.object({
        source: z.object({ path: z.string(), packaging: z.string() }).partial(),
        destinations: z.record(z.string(), z.object({ objectKey: z.string() })),
      }),
    )
    .default({}),
});

/** Reads the one stack of a cloud assembly (the directory that `cdk synth` writes, `cdk.out` by default). */
export async function readAssembly(directory: string, uniquePart = ""): Promise<Assembly> {
  const manifest = await readJson(join(directory, "manifest.json"), manifestSchema);
  const artifacts = Object.entries(manifest.artifacts);
  const stacks = artifacts.filter(([, artifact]) => artifact.type === "aws:cloudformation:stack");
  const [stack] = stacks;
  if (stack === undefined || stacks.length > 1) {
    const found = stacks.map(([id]) => id).join(", ") || "none";
    throw new Error(`${directory}: expected one stack in the cloud assembly, found ${found}.`);
  }
  const [id, { properties }] = stack;
  const template = await readJson(
    join(directory, properties?.templateFile ?? `${id}.template.json`),
    templateSchema,
  );
  const manifests = artifacts.flatMap(([, artifact]) =>
    artifact.type === "cdk:asset-manifest" && artifact.properties?.file ? [artifact.properties.file] : [],
  );
  const assets = await Promise.all(manifests.map((file) => readAssets(directory, file)));
  return {
    stackName: properties?.stackName ?? id,
    uniquePart,
    resources: template.Resources,
    parameters: defaults(template.Parameters),
    assets: new Map(assets.flat()),
  };
}

function defaults(parameters: z.infer<typeof templateSchema>["Parameters"]): Record<string, string> {
  return Object.fromEntries(
    Object.entries(parameters).flatMap(([name, { Default }]) =>
      Default === undefined ? [] : [[name, String(Default)] as const],
    ),
  );
}

async function readAssets(directory: string, file: string): Promise<[string, string][]> {
  const { files } = await readJson(join(directory, file), assetsSchema);
  return Object.values(files).flatMap(({ source, destinations }) => {
    const path = source.path;
    // Only what is zipped on upload is a directory here.
    if (path === undefined || source.packaging !== "zip") return [];
    return Object.values(destinations).map(
      ({ objectKey }) => [objectKey, resolve(directory, path)] as [string, string],
    );
  });
}

async function readJson<T>(path: string, schema: z.ZodType<T>): Promise<T> {
  const text = await readFile(path, "utf8").catch((cause: unknown) => {
    throw new Error(`Expected a file of a CDK cloud assembly at ${path}, found none. Run cdk synth first.`, {
      cause,
    });
  });
  const parsed = schema.safeParse(JSON.parse(text));
  if (!parsed.success) {
    throw new Error(`${path} is no cloud assembly that can be read: ${z.prettifyError(parsed.error)}`);
  }
  return parsed.data;
}
