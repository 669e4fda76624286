import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { engineUrl, withoutBundling } from "./synthesise.ts";

const folder = mkdtempSync(join(tmpdir(), "sortie-app-"));
afterAll(() => rmSync(folder, { recursive: true }));
const timeout = 60_000;

/** Runs the app as the `cdk` command does, but from another directory. */
function runApp(outdir: string, settings: Record<string, unknown>) {
  const context = JSON.stringify({ ...withoutBundling, ...settings });
  return spawnSync(process.execPath, [join(import.meta.dirname, "../../lib/app.ts")], {
    cwd: folder,
    env: { ...process.env, CDK_OUTDIR: outdir, CDK_CONTEXT_JSON: context },
    encoding: "utf8",
  });
}

test("the stack has the name of the settings, wherever the app is run", { timeout }, () => {
  const outdir = join(folder, "good");
  const { status } = runApp(outdir, { engineUrl, stackName: "Rollouts" });
  expect(status).toBe(0);
  const template: unknown = JSON.parse(readFileSync(join(outdir, "Rollouts.template.json"), "utf8"));
  expect(template).toHaveProperty("Outputs.TableName");
});

test("faulty settings are listed, without a stack trace, and no template is written", { timeout }, () => {
  const outdir = join(folder, "bad");
  const { status, stderr } = runApp(outdir, { engineUrl: "gpu", memroyMb: 512 });
  expect(status).toBe(1);
  expect(stderr).toBe(
    "The settings need a change:\n" +
      '  - engineUrl: expected a URL such as http://10.0.0.7:10086, found "gpu"\n' +
      "  - memroyMb: there is no such setting; did you mean memoryMb?\n",
  );
  expect(existsSync(join(outdir, "manifest.json"))).toBe(false);
});
