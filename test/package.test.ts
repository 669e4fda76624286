import { execFileSync, spawnSync } from "node:child_process";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { packingAlone } from "./support/packing.ts";

const root = join(import.meta.dirname, "..");
/** It compiles the package, and bundles from it. */
const timeout = 180_000;
let folder: string;

/** A CDK app of somebody's own, with this package as npm would install it and the other packages beside it. */
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "sortie-package-"));
  const modules = join(folder, "node_modules");
  mkdirSync(join(modules, "sortie"), { recursive: true });
  await packingAlone(() =>
    execFileSync("npm", ["pack", "--silent", "--pack-destination", folder], { cwd: root }),
  );
  const [tarball] = readdirSync(folder).filter((name) => name.endsWith(".tgz"));
  execFileSync("tar", [
    "-xzf",
    join(folder, tarball ?? ""),
    "-C",
    join(modules, "sortie"),
    "--strip-components=1",
  ]);
  for (const name of readdirSync(join(root, "node_modules")))
    symlinkSync(join(root, "node_modules", name), join(modules, name));
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
}, timeout);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("three lines of somebody's own CDK app make a fleet, with their own agent in its bundle", {
  timeout,
}, () => {
  writeFileSync(
    join(folder, "my-agent.ts"),
    `import type { Agent } from "sortie/agent";
const agent: Agent = async () => ({ reward: 1, metadata: { note: "my very own reward" } });
export default agent;
`,
  );
  writeFileSync(
    join(folder, "app.js"),
    `import { App, Stack } from "aws-cdk-lib";
import { RolloutFleet } from "sortie";

const stack = new Stack(new App({ outdir: "out" }), "Mine");
new RolloutFleet(stack, "Fleet", { engineUrl: "http://10.0.0.7:10086", agent: "./my-agent.ts" });
`,
  );
  const run = spawnSync(process.execPath, ["app.js"], {
    cwd: folder,
    encoding: "utf8",
    env: { ...process.env, CDK_OUTDIR: "out" },
  });
  expect(run.status, run.stderr).toBe(0);
  const template = JSON.parse(readFileSync(join(folder, "out", "Mine.template.json"), "utf8"));
  const types = Object.values(template.Resources as Record<string, { Type: string }>).map(({ Type }) => Type);
  expect(types).toContain("AWS::Lambda::EventSourceMapping");
  expect(types.filter((type) => type === "AWS::SQS::Queue")).toHaveLength(2);
  const bundles = readdirSync(join(folder, "out"))
    .filter((name) => name.startsWith("asset."))
    .map((name) => readFileSync(join(folder, "out", name, "index.mjs"), "utf8"));
  expect(bundles.filter((bundle) => bundle.includes("my very own reward"))).toHaveLength(1);
});

test("the installed command runs", () => {
  const command = join(folder, "node_modules", "sortie", "bin", "sortie.js");
  const sortie = (...args: string[]) =>
    spawnSync(process.execPath, [command, ...args], { cwd: folder, encoding: "utf8" });
  const version = sortie("--version");
  expect(version.stderr).toBe("");
  expect(version.stdout.trim()).toBe("0.1.0");
  expect(sortie("push", "--help").stdout).toContain("Usage: sortie push");
  const elsewhere = spawnSync(process.execPath, [command, "stats", "--local"], {
    cwd: folder,
    encoding: "utf8",
    env: { ...process.env, SORTIE_LOCAL_RUN: join(folder, "none.json") },
  });
  expect(elsewhere.status).toBe(1);
  expect(elsewhere.stderr).toContain("expected a local system, found none running");
});
