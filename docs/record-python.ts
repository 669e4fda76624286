/** Writes docs/python-session.md: what a newcomer types, from nothing to the first ended episode. `npx node docs/record-python.ts` */
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { promisify } from "node:util";

const root = join(import.meta.dirname, "..");
const AGENT = `def rollout(task, episode):
    reply = episode.chat([{"role": "user", "content": task.main_query}])
    answer = task.metadata["answer"].split()[-1]
    return {"reward": 1.0 if answer in (reply["content"] or "") else 0.0}
`;
/** With a package that is not there, as happens to everybody once. */
const FAULTY = AGENT.replace("def rollout", "import openai_agents_of_mine\n\ndef rollout");

const run = promisify(execFile);
const folder = await mkdtemp(join(tmpdir(), "sortie-newcomer-"));
const parts: string[] = [];
try {
  await shown("python3 --version", "python3", ["--version"]);
  await saved(FAULTY);
  await shown("npm start -- --agent my_agent.py --rollouts 8", "npm", start(8));
  await saved(AGENT);
  await shown("npm start -- --agent my_agent.py --rollouts 8", "npm", start(8));
  const page = `# From nothing to the first ended episode, in Python\n\nRecorded by \`npx node docs/record-python.ts\`, in a clone after \`npm ci\`; nothing was installed for Python.\n\n${parts.join("\n")}`;
  await writeFile(join(root, "docs/python-session.md"), page);
} finally {
  await rm(folder, { recursive: true });
}

function start(rollouts: number): string[] {
  const agent = join(folder, "my_agent.py");
  return ["start", "--silent", "--", "--agent", agent, "--rollouts", String(rollouts)];
}

async function saved(text: string): Promise<void> {
  await writeFile(join(folder, "my_agent.py"), text);
  parts.push(`\`\`\`python\n# my_agent.py\n${text}\`\`\`\n`);
}

async function shown(typed: string, command: string, words: string[]): Promise<void> {
  const began = performance.now();
  const result = await run(command, words, { cwd: root }).catch((error) => error);
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  const said = `${result.stderr ?? ""}${result.stdout ?? ""}`.replaceAll(`${folder}/`, "");
  const interpreter = /\S+\/bin\/(python[\d.]*)/g;
  const lines = said.replaceAll(interpreter, "$1").trimEnd();
  parts.push(
    `\`\`\`console\n$ ${typed}\n${lines}\n[exit code ${result.code ?? 0} after ${seconds} s]\n\`\`\`\n`,
  );
}
