/** The types of agents, checked with the real compiler. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { typeFaults, typeWarning } from "../../lib/agent-types.ts";
import { synthesise } from "../../local/synth.ts";

const root = join(import.meta.dirname, "../..");
const timeout = 120_000;
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sortie-agent-types-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

const agent = (body: string) => `import type { Agent } from ${JSON.stringify(join(root, "agents/agent.ts"))};
const agent: Agent = async (task, episode) => {
  ${body}
};
export default agent;
`;
const sound = agent(
  'await episode.chat({ messages: [] });\n  return { reward: task.task_id === "" ? 0 : 1 };',
);
const wrong = agent('return { reward: task.metadata["answer"] };');

test("a fault is named by file and line; a sound agent and JavaScript have none", { timeout }, async () => {
  expect(await typeFaults([file("sound.ts", sound), file("agent.js", "export default 1;")])).toEqual([]);
  const faults = await typeFaults([file("wrong.ts", wrong)]);
  expect(faults).toHaveLength(1);
  expect(faults[0]).toMatch(
    /wrong\.ts\(2,7\): error TS2322: .* type 'Agent'\.\n {4}Type 'unknown' is not assignable to type 'number/,
  );
});

test("the tsconfig.json of the author holds, wherever its files are", { timeout }, async () => {
  const loose = file("loose.ts", "export default async (task) => ({ reward: 1 });\n");
  expect((await typeFaults([loose])).join()).toContain(
    "error TS7006: Parameter 'task' implicitly has an 'any'",
  );
  file(
    "tsconfig.json",
    JSON.stringify({ compilerOptions: { strict: false, composite: true }, include: ["none"] }),
  );
  expect(await typeFaults([loose])).toEqual([]);
});

test("types of Node.js are there, beside the agent or beside this package", { timeout }, async () => {
  const body =
    'const { readFileSync } = await import("node:fs");\n  return { reward: readFileSync("x").length };';
  expect(await typeFaults([file("reads.ts", agent(body))])).toEqual([]);
});

test("the app warns and goes on; strict, it makes nothing", { timeout }, async () => {
  const settings = { engineUrl: "http://127.0.0.1:1", agent: file("wrong.ts", wrong) };
  const [warning, ...others] = await synthesise(join(folder, "out"), settings);
  expect(others).toEqual([]);
  expect(warning).toMatch(/^warning: the agent's types are wrong:\n {2}.*wrong\.ts\(2,7\): error TS2322: /);
  await expect(synthesise(join(folder, "strict"), settings, true)).rejects.toThrow(
    /^the CDK app failed \(exit code 1\):\n(?:.*\n)*the agent's types are wrong:\n {2}.*wrong\.ts\(2,7\): error TS2322: /,
  );
});

test("many faults are told by the first ten", () => {
  const faults = Array.from({ length: 12 }, (_, index) => `a.ts(${index + 1},1): error TS1: no`);
  const lines = typeWarning(faults, false).split("\n");
  expect(lines[0]).toBe("warning: the agent's types are wrong:");
  expect(lines.slice(10)).toEqual(["  a.ts(10,1): error TS1: no", "  … and 2 more"]);
});
