/** The app, run as a local run does. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import cdkJson from "../../cdk.json" with { type: "json" };
import { synthesise } from "../../local/synth.ts";

const timeout = 60_000;
const outDir = mkdtempSync(join(tmpdir(), "sortie-synth-"));
const withoutBundling = { ...cdkJson.context, "aws:cdk:bundling-stacks": [] };

test("tells the warnings that cdk synth would print", { timeout }, async () => {
  onTestFinished(() => rmSync(outDir, { recursive: true }));
  const context = { ...withoutBundling, engineUrl: "http://10.0.0.7:10086", maxEpisodes: 4 };
  expect(await synthesise(outDir, context)).toEqual([
    expect.stringMatching(
      /^warning: fleet main: maxEpisodes: 4 is less than two invocations of 10 .* or more$/,
    ),
  ]);
});

test("what the project ships has no engine's address, which is a fault", { timeout }, async () => {
  await expect(synthesise(outDir, withoutBundling)).rejects.toThrow(
    "engineUrl: expected the engine's address, found nothing",
  );
});
