import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { engineUrl, withoutBundling } from "./synthesise.ts";

const folder = mkdtempSync(join(tmpdir(), "sortie-app-"));
afterAll(() => rmSync(folder, { recursive: true }));
const timeout = 60_000;

/** Runs the app as the `cdk` command does, but from another directory. */
function runApp(
  outdir: string,
  settings: Record<string, unknown>,
  account: Record<string, string | undefined> = {},
) {
  const context = JSON.stringify({ ...withoutBundling, ...settings });
  return spawnSync(process.execPath, [join(import.meta.dirname, "../../lib/app.ts")], {
    cwd: folder,
    env: { ...process.env, ...account, CDK_OUTDIR: outdir, CDK_CONTEXT_JSON: context },
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

describe("a VPC that is given by its id alone", () => {
  const settings = { engineUrl, network: { vpcId: "vpc-0123456789abcdef0" } };

  test("is looked up in the account of the credentials", { timeout }, () => {
    const outdir = join(folder, "lookup");
    const account = { CDK_DEFAULT_ACCOUNT: "111122223333", CDK_DEFAULT_REGION: "eu-west-1" };
    expect(runApp(outdir, settings, account).status).toBe(0);
    const manifest = JSON.parse(readFileSync(join(outdir, "manifest.json"), "utf8")) as { missing: unknown };
    expect(manifest.missing).toMatchObject([
      {
        provider: "vpc-provider",
        props: {
          account: "111122223333",
          region: "eu-west-1",
          filter: { "vpc-id": "vpc-0123456789abcdef0" },
        },
      },
    ]);
  });

  test("needs credentials, and says what does without", { timeout }, () => {
    const nobody = { CDK_DEFAULT_ACCOUNT: undefined, CDK_DEFAULT_REGION: undefined };
    const { status, stderr } = runApp(join(folder, "nobody"), settings, nobody);
    expect([status, stderr]).toEqual([
      1,
      "The settings need a change:\n" +
        "  - network: a VPC that is given by its id alone is looked up in your account, and there are no credentials for it: " +
        "sign in (aws sts get-caller-identity has to answer), or add subnetIds and availabilityZones\n",
    ]);
  });
});
