/** The examples in Python as their page says to run them, with the packages that they are written for. */
import { execFileSync } from "node:child_process";
import { copyFileSync, cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { packageRoot } from "../../functions/entries.ts";
import { npmStart } from "../support/start-command.ts";

/** With these packages; set by `.ci/agents-check`, which makes it. */
const python = process.env["SORTIE_AGENTS_PYTHON"] ?? "";
const examples = join(packageRoot, "agents/python/examples");
const rollouts = 8;

describe.skipIf(python === "")("(run by .ci/agents-check, which installs what they need)", () => {
  test.each(["math_agent.py", "calculator_agent.py", "bedrock_app.py", "strands_app.py"])(
    "%s over HTTP",
    { timeout: 180_000 },
    async (file) => {
      await endsAll("--agent", join(examples, file));
    },
  );

  test.each(["bedrock_app.py"])("%s behind AgentCore's API", { timeout: 180_000 }, async (file) => {
    const arn = "arn:aws:bedrock-agentcore:eu-west-1:111122223333:runtime/my_agent-AbCdEf1234";
    await endsAll(...settings({ agentcore: { arn } }), "--runtime", join(examples, file));
  });

  test("the kit is a package with a command", () => {
    const help = execFileSync(join(dirname(python), "sortie-agent"), ["--help"]).toString();
    expect(help).toContain("Serves a Python agent to Sortie.");
  });

  test.each([
    ["code_agent", [], []],
    ["math_lambda", ["math_agent.py"], []],
    ["strands_lambda", ["strands_agent.py", "calculator_agent.py"], ["strands"]],
  ])("%s in a Lambda function", { timeout: 300_000 }, async (name, files, packages) => {
    const folder = scratch();
    const kit = join(packageRoot, "agents/python/sortie_agent.py");
    for (const file of [kit, ...[`${name}.py`, ...files].map((one) => join(examples, one))])
      copyFileSync(file, join(folder, basename(file)));
    // As `pip install -t` would leave them.
    if (packages.length > 0)
      cpSync(sitePackages(), folder, {
        recursive: true,
        filter: (path) => !/\/(?:pip|__pycache__)$/.test(path),
      });
    await endsAll(...settings({ lambda: { folder, handler: `${name}.handler` } }));
  });
});

async function endsAll(...options: string[]): Promise<void> {
  const counted = ["--rollouts", String(rollouts), "--json"];
  const { code, out, err } = await npmStart(...options, "--python", python, ...counted).done;
  expect({ code, err: code === 0 ? "" : err }).toEqual({ code: 0, err: "" });
  const summary = JSON.parse(out);
  expect(summary).toMatchObject({ ended: rollouts, dead: 0, engine_duplicate_ended: 0, engine_open: 0 });
  expect(summary.reward_mean).toBeGreaterThan(0);
}

function settings(agent: unknown): string[] {
  const file = join(scratch(), "cdk.json");
  writeFileSync(file, JSON.stringify({ context: { agent } }));
  return ["--settings", file];
}

function scratch(): string {
  const folder = mkdtempSync(join(tmpdir(), "sortie-examples-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

function sitePackages(): string {
  return execFileSync(python, ["-c", "import sysconfig; print(sysconfig.get_path('purelib'))"])
    .toString()
    .trim();
}
