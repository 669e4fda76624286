import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { App } from "aws-cdk-lib";
import { Template } from "aws-cdk-lib/assertions";
import { afterAll, expect, test } from "vitest";
import { decodeSettings } from "../../lib/settings.ts";
import { SortieStack } from "../../lib/stack.ts";
import { engineUrl, resource } from "./synthesise.ts";

const folder = mkdtempSync(join(tmpdir(), "sortie-bundles-"));
afterAll(() => rmSync(folder, { recursive: true }));

function writeAgent(name: string): string {
  const path = join(folder, `${name}.ts`);
  writeFileSync(path, `export default async () => ({ reward: 0, metadata: { by: "agent-${name}" } });\n`);
  return path;
}

test("each fleet's bundle has its own agent compiled in", { timeout: 60_000 }, () => {
  const fleets = { a: { agent: writeAgent("first") }, b: { agent: writeAgent("second") } };
  const app = new App({ outdir: join(folder, "out") });
  const stack = new SortieStack(app, "Sortie", { settings: decodeSettings({ engineUrl, fleets }) });
  app.synth();
  const template = Template.fromStack(stack);
  const bundle = (id: string) => bundleOf(template, id);

  const first = bundle("FleetaRollout");
  const second = bundle("FleetbRollout");
  const lifecycle = bundle("EnginemainLifecycle");
  expect(agentsIn(first)).toEqual(["agent-first"]);
  expect(agentsIn(second)).toEqual(["agent-second"]);
  expect(agentsIn(lifecycle)).toEqual([]);
  const kilobytes = (file: string) => `${Math.ceil(statSync(file).size / 1000)} kB`;
  console.log(`bundles: rollout ${kilobytes(first)}, lifecycle ${kilobytes(lifecycle)}`);
});

function bundleOf(template: Template, id: string): string {
  const { Code } = resource(template, "AWS::Lambda::Function", id).Properties as { Code: { S3Key: string } };
  return join(folder, "out", `asset.${Code.S3Key.replace(".zip", "")}`, "index.mjs");
}

function agentsIn(bundle: string): string[] {
  return readFileSync(bundle, "utf8").match(/agent-(first|second)/g) ?? [];
}
