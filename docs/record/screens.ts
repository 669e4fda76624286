/**
 * Records docs/screens.md: what each command shows in a terminal of 80 columns and 24 lines, and in a large one, over a local
 * system with some rollouts:
 *
 *     npm run record:screens
 *
 * Takes about two minutes.
 */
import { copyFile, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { inTerminal } from "./in-terminal.ts";
import { type Size, Terminal } from "./terminal.ts";

export const sizes: readonly Size[] = [
  { columns: 80, rows: 24 },
  { columns: 140, rows: 40 },
];
const commands = [
  "stats",
  "stats --plot",
  "stats --watch",
  "episodes --limit 12",
  "rollout TASK",
  "dead list",
  "doctor",
  "engine status",
];
const root = join(import.meta.dirname, "../..");
const folder = await mkdtemp(join(tmpdir(), "screens-"));
const env = { SORTIE_LOCAL_RUN: join(folder, ".local", "run.json") };
const large: Size = { columns: 140, rows: 40 };

/** A task that always dies, so that there is a letter to see. */
const agent = `import math from ${JSON.stringify(join(root, "agents", "math.ts"))};
export default async (task, episode) => {
  if (task.task_id === "broken") throw new Error("the judge of this task is down");
  return await math(task, episode);
};
`;

async function shown(line: string, size: Size, stopAfterMs?: number): Promise<string> {
  const run = inTerminal(line, size, { cwd: folder, env });
  if (stopAfterMs !== undefined) {
    await delay(stopAfterMs);
    const terminal = await written(run.written, size);
    run.interrupt();
    await run.ended;
    return terminal.text();
  }
  await run.ended;
  return (await written(run.written, size)).text();
}

async function written(parts: readonly { readonly text: string }[], size: Size): Promise<Terminal> {
  const terminal = new Terminal(size);
  for (const { text } of parts) await terminal.write(text);
  return terminal;
}

const sortie = (command: string) => `node ${join(root, "cli/sortie.ts")} ${command} --local`;

async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 120; tries += 1) {
    if (await holds()) return;
    await delay(1000);
  }
  throw new Error(`expected within two minutes: ${what}`);
}

const page: string[] = [
  `# What the commands show

Recorded by \`npm run record:screens\` in terminals of ${sizes.map(({ columns, rows }) => `${columns} × ${rows}`).join(" and ")}
characters, over a local system. What is longer than a terminal has scrolled away, except for \`--watch\`, which draws into the lines
that there are.
`,
];

await writeFile(join(folder, "agent.ts"), agent);
await copyFile(join(root, "cdk.json"), join(folder, "cdk.json"));
await writeFile(
  join(folder, "broken.jsonl"),
  '{"task_id": "broken", "main_query": "1 + 1", "metadata": {"answer": "2"}}\n',
);
const start = join(root, "local/start.ts");
const system = inTerminal(
  `node ${start} --serve --rollouts 24 --seed 1 --agent ${join(folder, "agent.ts")}`,
  large,
  {
    cwd: folder,
    env,
  },
);
try {
  await until("the local system runs", async () =>
    system.written.some(({ text }) => text.includes("--watch --local")),
  );
  await shown(sortie("push .local/tasks.jsonl --repeats 4 --run monday"), large);
  await shown(sortie("push broken.jsonl --run monday"), large);
  await until("one is dead", async () => (await shown(sortie("dead list"), large)).includes("agent-error"));
  // By now the others have ended, and a snapshot has seen it.
  await delay(10_000);
  for (const name of commands) {
    page.push(`## ${name}\n`);
    const command = name.replace("TASK", "broken");
    for (const size of sizes) {
      const text = await shown(sortie(command), size, name.includes("--watch") ? 15_000 : undefined);
      page.push(`\`\`\`text ${size.columns}×${size.rows}\n${text.replaceAll(`${folder}/`, "")}\n\`\`\`\n`);
    }
  }
  await writeFile(join(root, "docs/screens.md"), page.join("\n"));
} finally {
  system.interrupt();
  await system.ended;
  await rm(folder, { recursive: true, force: true });
}
