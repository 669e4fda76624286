/**
 * Records docs/session.md: runs every command that it shows, against a local system of its own.
 *
 *     npx node docs/record-session.ts > docs/session.md && npx biome check --write docs/session.md
 *
 * Takes about two minutes.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { copyFile, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

const root = join(import.meta.dirname, "..");
const folder = await mkdtemp(join(tmpdir(), "session-"));
const environment = { ...process.env, SORTIE_LOCAL_RUN: join(folder, ".local", "run.json"), NO_COLOR: "1" };

interface Running {
  readonly child: ChildProcess;
  readonly text: () => string;
  readonly ended: Promise<number | null>;
}

function start(script: string, args: readonly string[]): Running {
  const child = spawn(process.execPath, [join(root, script), ...args], {
    cwd: folder,
    env: environment,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let text = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (part: string) => {
      text += part;
    });
  const ended = once(child, "close").then(([code]) => code as number | null);
  return { child, text: () => text, ended };
}

const write = (text: string) => void process.stdout.write(text);
const say = (text: string) => write(`\n${text}\n`);

function show(command: string, output: string): void {
  // Folders of the recording stand for the project's own.
  const printed = output.replaceAll(`${folder}/`, "").trimEnd();
  write(`\n\`\`\`text\n$ ${command}\n${printed}\n\`\`\`\n`);
}

/** As `npx sortie` would; the local system is this recording's. */
async function sortie(command: string, stopAfterMs?: number): Promise<string> {
  const running = start("cli/sortie.ts", command.split(" ").slice(2));
  if (stopAfterMs !== undefined) {
    await delay(stopAfterMs);
    running.child.kill("SIGINT");
  }
  await running.ended;
  show(command, `${running.text()}${stopAfterMs === undefined ? "" : "^C"}`);
  return running.text();
}

async function until(what: string, holds: () => Promise<boolean> | boolean): Promise<void> {
  for (let tries = 0; tries < 240; tries += 1) {
    if (await holds()) return;
    await delay(500);
  }
  throw new Error(`expected within two minutes: ${what}`);
}

/** What a command says, not shown. */
async function ask(...args: string[]): Promise<string> {
  const running = start("cli/sortie.ts", [...args, "--local", "--json"]);
  await running.ended;
  return running.text();
}

/** A service that judges answers, and is down until told otherwise. */
async function startJudge(): Promise<{ server: Server; url: string; mend: () => void }> {
  let down = true;
  const server = createServer((_, response) => response.writeHead(down ? 503 : 200).end());
  await once(server.listen(0, "127.0.0.1"), "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    server,
    url,
    mend: () => {
      down = false;
    },
  };
}

/** The shipped math agent; some tasks ask a judge first. */
function agentSource(judge: string): string {
  return `import math from ${JSON.stringify(join(root, "agents", "math.ts"))};
export default async (task, episode) => {
  if (task.env_type === "judged") {
    const { status } = await fetch(${JSON.stringify(judge)}, { signal: episode.signal });
    if (status !== 200) throw new Error(\`the judge answers \${status}\`);
  }
  return await math(task, episode);
};
`;
}

const judge = await startJudge();
await writeFile(join(folder, "agent.ts"), agentSource(judge.url));
await copyFile(join(root, "cdk.json"), join(folder, "cdk.json"));
await writeFile(join(folder, "train.yaml"), "ajet:\n  backbone: verl\n  model: qwen\n");
const judged = [1, 2, 3].map((id) => ({
  task_id: `judged-${id}`,
  main_query: `What is ${id} + ${id}?`,
  env_type: "judged",
  metadata: { answer: `#### ${2 * id}` },
}));
await writeFile(join(folder, "judged.jsonl"), judged.map((task) => `${JSON.stringify(task)}\n`).join(""));

write(`# A session

Recorded by \`docs/record-session.ts\`, which really runs each command against a local system; only the folders' names
are shortened. Against a deployment it is the same without \`--local\`.
`);

const system = start("local/start.ts", [
  "--serve",
  "--offline",
  "--rollouts",
  "96",
  "--agent",
  join(folder, "agent.ts"),
]);
try {
  await until("the local system runs", () => system.text().includes("--watch --local"));
  say(
    "## Start\n\nThe whole system on this machine, in a terminal of its own. The engine is a stand-in that waits for its config.",
  );
  show("npm start -- --serve --offline --agent agent.ts", system.text());

  say("In another terminal, say that the engine is wanted running, and wait until it is:");
  await sortie("npx sortie engine start --config train.yaml --wait --local");
  await sortie("npx sortie engine status --local");

  say("## Push\n\nPushing the same file again pushes nothing that has ended.");
  await sortie("npx sortie push .local/tasks.jsonl --repeats 4 --run monday --local");
  await until(
    "the run has ended",
    async () => JSON.parse(await ask("episodes", "--state", "ended", "--limit", "500")).length >= 90,
  );
  await sortie("npx sortie push .local/tasks.jsonl --repeats 4 --run monday --local");

  say("## Watch\n\nOn a terminal, each frame takes the place of the one before. Here is one.");
  await sortie("npx sortie stats --watch --local", 3000);

  say("## Pause and resume");
  await sortie("npx sortie pause --why maintenance --local");
  await sortie("npx sortie resume --local");

  say(
    "## Dead letters\n\nThese tasks need a judge, which is down: their agent throws at each of its three attempts.",
  );
  await sortie("npx sortie push judged.jsonl --run judged --local");
  await until("three rollouts are dead", async () => JSON.parse(await ask("dead", "list")).letters === 3);
  await sortie("npx sortie dead list --local");
  await sortie("npx sortie rollout run/judged/train/0/judged-1 --local");
  say("The judge is up again, so send them back:");
  judge.mend();
  await sortie("npx sortie dead redrive --reason agent-error --local");
  await until("the judged have ended", async () => {
    const found: { key: string }[] = JSON.parse(await ask("episodes", "--state", "ended", "--limit", "500"));
    return found.filter(({ key }) => key.startsWith("run/judged/")).length === 3;
  });
  await sortie("npx sortie rollout run/judged/train/0/judged-1 --local");

  say("## Look back\n\nWhat the snapshots of the last two hours (here: of a minute or two) have seen:");
  await sortie("npx sortie stats --plot --local");
  await sortie("npx sortie doctor --local");

  say("## Stop");
  await sortie("npx sortie engine stop --wait --local");
} finally {
  system.child.kill("SIGINT");
  await system.ended;
  judge.server.close();
  await rm(folder, { recursive: true, force: true });
}
