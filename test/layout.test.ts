import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const biome = createRequire(import.meta.url).resolve("@biomejs/biome/bin/biome");
const config = new URL("../biome.json", import.meta.url);

/** The design's layout: what each folder may import, and what it may not. */
const rules: [file: string, may: string[], mayNot: string[]][] = [
  [
    "functions/core/rollout/x.ts",
    ["zod", "./item.ts", "../errors.ts", "../housekeeping/tick.ts", "../../contract/agent.ts"],
    ["node:fs", "@aws-sdk/client-sqs", "undici", "../../adapters/table/client.ts", "../../environment.ts"],
  ],
  ["functions/core/x.ts", ["zod", "./errors.ts", "./rollout/item.ts"], ["../environment.ts", "aws-cdk-lib"]],
  ["functions/contract/x.ts", ["zod", "./agent.ts"], ["../core/errors.ts", "node:fs", "aws-cdk-lib"]],
  [
    "functions/adapters/table/x.ts",
    ["@aws-sdk/client-dynamodb", "zod", "./client.ts", "../../core/errors.ts", "../../contract/agent.ts"],
    ["@aws-sdk/client-sqs", "undici", "../engine/client.ts", "../queue/client.ts", "../../environment.ts"],
  ],
  [
    "functions/adapters/engine/x.ts",
    ["undici", "../../core/engine.ts"],
    ["@aws-sdk/client-sqs", "../table/client.ts"],
  ],
  [
    "functions/adapters/queue/x.ts",
    ["@aws-sdk/client-sqs"],
    ["@aws-sdk/client-dynamodb", "../table/client.ts"],
  ],
  [
    "lib/x.ts",
    [
      "aws-cdk-lib",
      "aws-cdk-lib/aws-sqs",
      "constructs",
      "../functions/contract/environment-names.ts",
      "../functions/entries.ts",
    ],
    ["../functions/core/errors.ts", "../functions/environment.ts", "../local/system.ts", "undici"],
  ],
  ["agents/x.ts", ["./agent.ts", "./support/answers.ts"], ["../functions/core/errors.ts", "undici"]],
  ["cli/x.ts", ["../functions/core/errors.ts", "commander"], ["../lib/settings.ts", "../local/system.ts"]],
  ["local/x.ts", ["../functions/core/errors.ts", "fastify", "../cli/local-run.ts"], ["../lib/settings.ts"]],
];

let folder: string;
let report: string;
let circles: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "sortie-layout-"));
  cpSync(config, join(folder, "biome.json"));
  for (const [file, may, mayNot] of rules) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    const lines = [...may, ...mayNot].map((name, n) => `import * as m${n} from "${name}";\n`);
    writeFileSync(join(folder, file), lines.join(""));
  }
  report = lint("style/noRestrictedImports");
  writeFileSync(join(folder, "a.ts"), 'import type { B } from "./b.ts";\nexport type A = B[];\n');
  writeFileSync(join(folder, "b.ts"), 'import type { A } from "./a.ts";\nexport type B = { a?: A };\n');
  circles = lint("suspicious/noImportCycles");
});
afterAll(() => rmSync(folder, { recursive: true }));

function lint(rule: string): string {
  const args = [
    "lint",
    `--only=${rule}`,
    "--reporter=github",
    "--vcs-enabled=false",
    "--max-diagnostics=none",
  ];
  return spawnSync(process.execPath, [biome, ...args, "."], { cwd: folder, encoding: "utf8" }).stdout;
}

describe("the linter keeps the layout", () => {
  test.each(rules)("%s", (file, may, mayNot) => {
    const refused = report
      .split("\n")
      .filter((line) => line.includes(`${file},line=`))
      .map((line) => Number(/line=(\d+)/.exec(line)?.[1]));
    expect([...may, ...mayNot].filter((_, n) => refused.includes(n + 1))).toEqual(mayNot);
  });
});

test("the linter finds circles of types as well", () => {
  expect(circles).toContain("a.ts,line=1");
  expect(circles).toContain("b.ts,line=1");
});
