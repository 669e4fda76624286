/** What `cdk synth` makes of an agent: bundled as it is deployed, and loaded once. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { synthesise } from "../../local/synth.ts";

const timeout = 60_000;
const folder = mkdtempSync(join(tmpdir(), "sortie-bundle-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** A folder with an agent and what belongs to it. */
async function synthesised(name: string, files: Readonly<Record<string, string>>): Promise<string> {
  const project = join(folder, name);
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(project, path, ".."), { recursive: true });
    writeFileSync(join(project, path), text);
  }
  const out = join(project, "out");
  await synthesise(out, { engineUrl: "http://127.0.0.1:1", agent: join(project, "agent.ts") });
  return out;
}

describe("an agent that cannot be loaded fails the synthesis, by its file and line", () => {
  test.each([
    [
      "throws",
      "\nJSON.parse('{');\nexport default async () => ({ reward: 1 });",
      /throws\/agent\.ts cannot be loaded: SyntaxError: .*\n {2}at .*throws\/agent\.ts:2:/,
    ],
    [
      "no-default",
      "export const agent = async () => ({ reward: 1 });",
      /no-default\/agent\.ts cannot be loaded: TypeError: expected a function as the default export of the agent's file, found undefined/,
    ],
    [
      "ends",
      "process.exit(0);\nexport default async () => ({ reward: 1 });",
      /ends\/agent\.ts cannot be loaded: .*process\.exit\(0\)/,
    ],
  ])("%s", { timeout }, async (name, agent, words) => {
    const failure = await synthesised(name, { "agent.ts": agent }).catch((error: Error) => error);
    expect(failure).toBeInstanceOf(Error);
    const { message } = failure as Error;
    expect(message).toMatch(words);
    // None of the CDK's own lines.
    expect(message).not.toContain("node_modules/aws-cdk-lib");
  });

  test("a native module is refused, with a way out", { timeout }, async () => {
    const agent = `import addon from "fast-addon";\nexport default async () => ({ reward: addon.score() });`;
    const failure = await synthesised("native", {
      "agent.ts": agent,
      "node_modules/fast-addon/package.json": '{ "name": "fast-addon", "main": "index.js" }',
      "node_modules/fast-addon/index.js": 'module.exports = require("./build/addon.node");',
      "node_modules/fast-addon/build/addon.node": "ELF",
    }).catch((error: Error) => error);
    expect((failure as Error).message).toMatch(
      /native\/agent\.ts: expected JavaScript alone, found a native module .*addon\.node.* in a container/s,
    );
  });
});

test("CommonJS packages know their folder, and JSON and text files go into the bundle", {
  timeout,
}, async () => {
  const out = await synthesised("rich", {
    "agent.ts": [
      'import old from "old-package";',
      'import prices from "./prices.json" with { type: "json" };',
      'import prompt from "./prompt.txt";',
      "if (old !== 'a folder' || prices.apple !== 3 || prompt !== 'Answer.') throw new Error(JSON.stringify([old, prices, prompt]));",
      "export default async () => ({ reward: prices.apple });",
    ].join("\n"),
    "prices.json": '{ "apple": 3 }',
    "prompt.txt": "Answer.",
    "node_modules/old-package/package.json": '{ "name": "old-package", "main": "index.js" }',
    "node_modules/old-package/index.js":
      'module.exports = require("node:fs").existsSync(__dirname) && require("node:fs").existsSync(__filename) ? "a folder" : "none";',
  });
  const assets = readdirSync(out).filter((name) => name.startsWith("asset."));
  const sources = assets.flatMap(
    (name) => JSON.parse(readFileSync(join(out, name, "index.mjs.map"), "utf8")).sources,
  );
  expect(sources).toContain(`file://${join(folder, "rich", "agent.ts")}`);
  expect(sources).toContain("node_modules/sortie/functions/agent-host.ts");
  expect(sources.filter((source: string) => source.startsWith(".."))).toEqual([]);
});
