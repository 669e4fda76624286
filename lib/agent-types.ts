/** Checks the types of agents with the TypeScript and the tsconfig.json of their author, where there are any. */
import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, relative, resolve, sep } from "node:path";
import { packageRoot } from "../functions/entries.ts";

const CHECK_MS = 60_000;
const SHOWN = 10;
/** Longer lines spell out types. */
const WIDTH = 300;
/** What an agent's author may write: all that the bundler takes. */
const defaults = {
  target: "ES2024",
  lib: ["ES2024"],
  module: "NodeNext",
  strict: true,
  skipLibCheck: true,
  resolveJsonModule: true,
};

/**
 * Resolves to one text per fault, as `agent.ts(3,5): error TS2345: …`, from this folder; to none for JavaScript, and where
 * there is no TypeScript. Never rejects.
 */
export async function typeFaults(agents: readonly string[]): Promise<string[]> {
  const files = agents.filter((file) => /\.[cm]?ts$/.test(file)).map((file) => resolve(file));
  const compiler = files.map(compilerFor).find((found) => found !== undefined);
  if (compiler === undefined) return [];
  const folder = mkdtempSync(join(tmpdir(), "sortie-types-"));
  try {
    const faults = await Promise.all(files.map((file, index) => faultsOf(file, compiler, folder, index)));
    return [...new Set(faults.flat())];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function faultsOf(file: string, compiler: string, folder: string, index: number): Promise<string[]> {
  const config = join(folder, `tsconfig.${index}.json`);
  writeFileSync(config, JSON.stringify(configFor(file)));
  const words = [compiler, "--project", config, "--pretty", "false"];
  const said = await new Promise<string>((settle) => {
    execFile(process.execPath, words, { timeout: CHECK_MS, maxBuffer: 2 ** 24 }, (_, stdout) =>
      settle(stdout),
    );
  });
  return said.split(/\n(?=\S)/).flatMap(ownFault);
}

/** Faults of libraries and of this package are nothing that an agent's author can mend. */
function ownFault(text: string): string[] {
  // What follows goes from the whole to the part: the last line is the fault proper.
  const [line = "", ...details] = text.trimEnd().split("\n");
  const [, path, rest] = /^(.+?)(\(\d+,\d+\): error TS\d+: .*)$/.exec(line) ?? [];
  if (path === undefined || path.includes("node_modules/")) return [];
  const file = resolve(path);
  if (file.startsWith(join(packageRoot, "functions", sep))) return [];
  const near = relative(process.cwd(), file);
  const shown = `${near.startsWith("..") ? file : near}${rest}`.slice(0, WIDTH);
  return [[shown, ...details.slice(-1).map((detail) => `    ${detail.trim()}`.slice(0, WIDTH))].join("\n")];
}

function configFor(file: string): object {
  const own = above(dirname(file), "tsconfig.json")[0];
  const typeRoots = [dirname(file), packageRoot].flatMap((from) =>
    above(from, join("node_modules", "@types")),
  );
  const hasNode = typeRoots.some((root) => existsSync(join(root, "node")));
  return {
    ...(own !== undefined && { extends: own }),
    compilerOptions: {
      ...(own === undefined && { ...defaults, ...(hasNode && { types: ["node"] }) }),
      typeRoots,
      noEmit: true,
      // The bundler resolves these, whatever else the project is compiled by.
      allowImportingTsExtensions: true,
      // A project of parts would want to be built first.
      composite: false,
      incremental: false,
    },
    files: [file],
    include: [],
    references: [],
  };
}

/** The nearest first. */
function above(folder: string, name: string): string[] {
  const parent = dirname(folder);
  const here = join(folder, name);
  return [...(existsSync(here) ? [here] : []), ...(parent === folder ? [] : above(parent, name))];
}

/** The author's TypeScript, else the one beside this package. */
function compilerFor(file: string): string | undefined {
  for (const from of [file, join(packageRoot, "package.json")])
    try {
      const manifest = createRequire(from).resolve("typescript/package.json");
      const { bin } = JSON.parse(readFileSync(manifest, "utf8")) as { bin?: { tsc?: string } };
      if (bin?.tsc !== undefined) return join(dirname(manifest), bin.tsc);
    } catch {
      // Not there.
    }
  return undefined;
}

/** For people: the first faults, and how many more there are. */
export function typeText(faults: readonly string[]): string {
  const shown = faults.slice(0, SHOWN).map((fault) => `  ${fault}`);
  const more = faults.length > shown.length ? [`  … and ${faults.length - shown.length} more`] : [];
  return ["the agent's types are wrong:", ...shown, ...more].join("\n");
}

/** The same where an agent that is faulty by its types alone is run all the same; `isStrict`: where it is not. */
export function typeWarning(faults: readonly string[], isStrict: boolean): string {
  return `${isStrict ? "" : "warning: "}${typeText(faults)}`;
}
