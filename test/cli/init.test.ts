/** A project as `sortie init` makes it, with the packed package, and with it only what npm would install. */
import { execFileSync, spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import lock from "../../package-lock.json" with { type: "json" };
import { packingAlone } from "../support/packing.ts";

const root = join(import.meta.dirname, "../..");
const timeout = 180_000;
let folder: string;
let project: string;
let made: ReturnType<typeof run>;

interface Manifest {
  readonly scripts: Readonly<Record<string, string>>;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
}
const readManifest = () => JSON.parse(readFileSync(join(project, "package.json"), "utf8")) as Manifest;

/** A command as it is written on a terminal in the project, where npm puts its packages' commands first. */
function run(command: string, cwd = project) {
  const PATH = `${join(cwd, "node_modules", ".bin")}:${process.env["PATH"]}`;
  const { NODE_OPTIONS: _, VITEST: __, NODE_ENV: ___, ...environment } = process.env;
  return spawnSync("sh", ["-c", command], {
    cwd,
    encoding: "utf8",
    env: { ...environment, PATH, FORCE_COLOR: undefined, NODE_TEST_CONTEXT: undefined },
  });
}

function link(target: string, path: string): void {
  mkdirSync(dirname(path), { recursive: true });
  symlinkSync(target, path);
}

/** What the lock has for those who use the package, and the tools of the project: nothing that only we develop with. */
function installed(tools: readonly string[]): string[] {
  const packages = Object.entries(lock.packages as Record<string, { dev?: boolean }>)
    .filter(([path, { dev }]) => path.lastIndexOf("node_modules/") === 0 && dev !== true)
    .map(([path]) => path.slice("node_modules/".length));
  return [...new Set([...packages, ...tools])].filter((name) => existsSync(join(root, "node_modules", name)));
}

function install(): void {
  const { dependencies, devDependencies } = readManifest();
  const modules = join(project, "node_modules");
  mkdirSync(join(modules, "sortie"), { recursive: true });
  const tarball = (dependencies["sortie"] ?? "").replace(/^file:/, "");
  const words = ["-xzf", join(project, tarball), "-C", join(modules, "sortie"), "--strip-components=1"];
  execFileSync("tar", words);
  const tools = Object.keys(devDependencies);
  for (const name of installed(tools)) link(join(root, "node_modules", name), join(modules, name));
  for (const name of ["cdk", "esbuild", "node", "tsc"])
    link(join(root, "node_modules/.bin", name), join(modules, ".bin", name));
  link("../sortie/bin/sortie.js", join(modules, ".bin", "sortie"));
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "sortie-init-"));
  project = join(folder, "My Rollouts");
  made = await packingAlone(() => run(`'${process.execPath}' bin/sortie.js init '${project}'`, root));
  if (made.status === 0) install();
}, timeout);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("a project that was made", () => {
  test("says what was written and what comes next", () => {
    expect(made.stderr).toBe("");
    expect(made.status).toBe(0);
    expect(made.stdout).toContain("  agent.ts\n");
    expect(made.stdout).toContain("\nNow:\n");
    expect(readFileSync(join(project, ".gitignore"), "utf8")).toContain("node_modules/");
    expect(JSON.parse(readFileSync(join(project, "package.json"), "utf8"))).toMatchObject({
      name: "my-rollouts",
      private: true,
      dependencies: { sortie: "file:sortie-0.1.0.tgz" },
    });
  });

  test("is type-checked, and the test of its agent passes", { timeout }, () => {
    const types = run("tsc");
    expect(types.stdout + types.stderr).toBe("");
    const tests = run(readManifest().scripts["test"] ?? "");
    expect(tests.stdout + tests.stderr).toContain("pass 3");
    expect(tests.status).toBe(0);
  });

  test("tries its agent on its tasks", { timeout }, () => {
    const tried = run("sortie agent try agent.ts --tasks tasks.jsonl");
    expect(tried.stderr).toBe("");
    for (const task of ["clips", "sitting", "sevens"])
      expect(tried.stdout).toMatch(new RegExp(`^${task}$`, "m"));
    expect(tried.stdout).toMatch(/^ {2}reward [01], 1 model call/m);
  });

  test("runs the whole system on its machine, with its own agent", { timeout }, () => {
    const started = run(`${readManifest().scripts["start"]} --rollouts 4 --json`);
    expect(started.stderr).toContain("4 rollouts on this machine");
    expect(started.stderr).toContain("from cdk.json: agent");
    const summary = JSON.parse(started.stdout.trim().split("\n").at(-1) ?? "") as object;
    expect(summary).toMatchObject({ pushed: 4, ended: 4, engine_ended: 4, engine_open: 0 });
    expect(started.status).toBe(0);
  });

  test("is synthesised with its agent in the function", { timeout }, () => {
    const synth = run(readManifest().scripts["synth"] ?? "");
    expect(synth.status, synth.stdout + synth.stderr).toBe(0);
    const out = join(project, "cdk.out");
    const bundles = readdirSync(out)
      .filter((name) => name.startsWith("asset.") && existsSync(join(out, name, "index.mjs")))
      .map((name) => readFileSync(join(out, name, "index.mjs"), "utf8"));
    expect(bundles.filter((bundle) => bundle.includes("has no number in metadata.answer"))).toHaveLength(1);
  });

  test("has no engine's address of its own, which is a fault", { timeout }, () => {
    const synth = run("cdk synth --quiet");
    expect(synth.status).not.toBe(0);
    expect(synth.stderr).toContain("engineUrl: expected the engine's address, found nothing");
  });

  test("a second one is made from the installed package", { timeout }, () => {
    const second = run("sortie init second");
    expect(second.stderr).toBe("");
    expect(existsSync(join(project, "second", "sortie-0.1.0.tgz"))).toBe(true);
    expect(existsSync(join(project, "second", "test", "agent.test.ts"))).toBe(true);
  });
});

test("a file that is there already is left alone, and nothing is written beside it", () => {
  const taken = join(folder, "taken");
  mkdirSync(taken);
  writeFileSync(join(taken, "agent.ts"), "mine");
  const { status, stderr } = run(`'${process.execPath}' bin/sortie.js init '${taken}'`, root);
  expect(status).toBe(1);
  expect(stderr).toBe(
    `sortie: ${taken}: expected a folder without these files, found agent.ts: nothing was written, name another folder\n`,
  );
  expect(readdirSync(taken)).toEqual(["agent.ts"]);
  expect(readFileSync(join(taken, "agent.ts"), "utf8")).toBe("mine");
});
