/**
 * Records docs/mistakes.md: makes each mistake, and shows what `sortie agent try` prints of it.
 *
 *     npx node docs/record-mistakes.ts > docs/mistakes.md
 */
import { spawn } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");
const IMPORT = 'import type { Agent } from "./agents/agent.ts";\n';
const agentOf = (...lines: string[]) =>
  `${IMPORT}\nconst agent: Agent = async (task, episode) => {\n${lines.map((line) => `  ${line}\n`).join("")}};\nexport default agent;\n`;
const ASK = 'const reply = await episode.chat({ messages: [{ role: "user", content: task.main_query }] });';

interface Mistake {
  readonly title: string;
  readonly name: string;
  readonly code: string;
  readonly options?: string;
  readonly words: string;
}
const mistakes: readonly Mistake[] = [
  {
    title: "It throws",
    name: "throws.ts",
    code: agentOf(ASK, 'const { steps } = JSON.parse(`{"said": 1}`);', "return { reward: steps.length };"),
    words: "The line is of your own source; what the model said stands before it.",
  },
  {
    title: "It never ends",
    name: "waits.ts",
    code: agentOf(ASK, "await new Promise(() => undefined);", "return { reward: reply.content ? 1 : 0 };"),
    options: " --timeout 3",
    words:
      "Locally the time is `--timeout` (120 s); of a deployed rollout it is the episode's deadline, and the attempt ends as `deadline`.",
  },
  {
    title: "It returns what is no reward",
    name: "returns.ts",
    code: `export default async () => ({ reward: "1" });\n`,
    words: "Without the type `Agent` nothing but the run can tell.",
  },
  {
    title: "Its types are wrong",
    name: "types.ts",
    code: agentOf(ASK, "return { reward: reply.content.length };"),
    words:
      "The run goes on, and may even earn a reward until the model says nothing; with `--strict` this is an error.",
  },
  {
    title: "It cannot be loaded",
    name: "loads.ts",
    code: `import { grade } from "./graders.ts";\n\nexport default async () => ({ reward: grade() });\n`,
    words: "`npm start`, `cdk synth` and `cdk deploy` fail by the same line, before anything is made.",
  },
];

/** The page, as it is printed now. */
export async function page(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "mistakes-"));
  try {
    await mkdir(join(folder, "agents"));
    const kept = JSON.stringify(join(root, "agents/agent.ts"));
    await writeFile(join(folder, "agents/agent.ts"), `export type * from ${kept};\n`);
    const parts: string[] = [];
    for (const mistake of mistakes) parts.push(await part(mistake, folder));
    return `${HEAD}\n${parts.join("\n")}`;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const HEAD = `# Five mistakes of an author

What \`npx sortie agent try\` prints of each, and after how many seconds it is done. \`docs/record-mistakes.ts\` makes this page, and a test
makes it again.
`;

async function part({ title, name, code, options = "", words }: Mistake, folder: string): Promise<string> {
  await writeFile(join(folder, name), code);
  const began = performance.now();
  const said = await tried(
    ["agent", "try", name, "--limit", "1", ...options.split(" ").filter(Boolean)],
    folder,
  );
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  const command = `npx sortie agent try ${name} --limit 1${options}`;
  return [
    `## ${title}\n`,
    `\`\`\`ts\n// ${name}\n${code}\`\`\`\n`,
    `\`\`\`text\n$ ${command}\n${said.trimEnd()}\n\`\`\`\n`,
    `After ${seconds} s. ${words}\n`,
  ].join("\n");
}

async function tried(args: readonly string[], cwd: string): Promise<string> {
  const child = spawn(process.execPath, [join(root, "bin/sortie.js"), ...args], {
    cwd,
    env: { ...process.env, NO_COLOR: "1", FORCE_COLOR: undefined },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const said = { out: "", err: "" };
  child.stdout.on("data", (text) => {
    said.out += String(text);
  });
  child.stderr.on("data", (text) => {
    said.err += String(text);
  });
  await new Promise((resolve) => child.on("close", resolve));
  return `${said.out}${said.err}`.replaceAll(`${cwd}/`, "");
}

if (import.meta.main) process.stdout.write(await page());
