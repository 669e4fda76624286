/**
 * What it costs the rollout function that its agent is elsewhere: `npm run bench:ways`. Model, service and Lambda's API
 * stand in a process of their own; measured is the one that a rollout function would be.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { json } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { LambdaClient } from "@aws-sdk/client-lambda";
import Table from "cli-table3";
import { httpAgent } from "../functions/adapters/agent-http/client.ts";
import { lambdaAgent } from "../functions/adapters/agent-lambda/client.ts";
import { AgentHosts } from "../functions/adapters/agents/index.ts";
import { neverSent, sharedDispatcher } from "../functions/adapters/engine/index.ts";
import { agentClientOptions } from "../functions/agent-ways/client-options.ts";
import type { AgentRunner } from "../functions/core/rollout/agent-runner.ts";
import { decodeMessage } from "../functions/core/rollout/message.ts";
import { remoteAgents } from "../functions/core/rollout/remote-agents.ts";
import { entries } from "../functions/entries.ts";
import { systemClock } from "../functions/system-clock.ts";
import { bundle } from "../local/bundle.ts";
import { machine } from "./machine.ts";

/** Of the model's one answer. */
const MODEL_MS = 2000;
/** How often all places are filled, after a first time that connections and threads are made in. */
const ROUNDS = 3;
const MEMORY_MB = 512;
const AGENT = `export default async (task, episode) => {
  await episode.chat({ messages: [{ role: "user", content: task.main_query }] });
  return { reward: 1 };
};`;

const names = ["module", "http", "lambda"] as const;
type Name = (typeof names)[number];

const [, , role, name, atOnce, url, entry] = process.argv;
if (role === "others") serveOthers();
else if (role === "measure") {
  const runner = runnerOf(name as Name, entry ?? "", url ?? "");
  process.send?.(await measure(runner, url ?? "", Number(atOnce)));
  process.exit();
} else await measureAll();

/** The model at /v1, an agent at /invocations, and Lambda's API. */
function serveOthers(): void {
  const choice = { index: 0, message: { role: "assistant", content: "42" }, finish_reason: "stop" };
  const server = createServer(async (request, response) => {
    await json(request);
    await delay(MODEL_MS);
    const isModel = request.url?.startsWith("/v1/");
    const body = isModel
      ? { id: "c", object: "chat.completion", model: "m", choices: [choice] }
      : { reward: 1 };
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
  });
  server.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));
}

async function measureAll(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "sortie-bench-"));
  const others = fork(fileURLToPath(import.meta.url), ["others"]);
  try {
    const [port] = await once(others, "message");
    const url = `http://127.0.0.1:${port}`;
    const entry = await functionIn(folder);
    const table = new Table({
      head: ["agent", "at once", "CPU ms an episode", "GB-s an episode", "memory, MB"],
      colAligns: ["left", "right", "right", "right", "right"],
      style: { head: [], border: [] },
    });
    for (const atOnce of [10, 50])
      for (const name of names) table.push([name, ...(await measured(name, String(atOnce), url, entry))]);
    process.stdout.write(`${table.toString()}\n${machine()}\n`);
  } finally {
    others.kill();
    await rm(folder, { recursive: true });
  }
}

/** In a process of its own: each has its own memory. */
async function measured(...words: string[]): Promise<string[]> {
  const child = fork(fileURLToPath(import.meta.url), ["measure", ...words]);
  const [row] = await once(child, "message");
  return row as string[];
}

function runnerOf(name: Name, entry: string, url: string): AgentRunner {
  if (name === "http")
    return remoteAgents(httpAgent({ urls: [url], dispatcher: sharedDispatcher(), neverSent }), systemClock);
  if (name === "lambda") {
    const credentials = { accessKeyId: "a", secretAccessKey: "s" };
    const client = new LambdaClient({
      ...agentClientOptions,
      endpoint: url,
      region: "eu-west-1",
      credentials,
    });
    return remoteAgents(lambdaAgent({ client, functionName: "my-agent" }), systemClock);
  }
  const hosted = { engineUrl: url, guarded: false };
  const options = { environment: {}, memoryMb: MEMORY_MB, blockSeconds: 20, log: () => undefined };
  return new AgentHosts({ entry, hosted, ...options });
}

/** Fills all places, waits for all, and again. */
async function measure(runner: AgentRunner, url: string, atOnce: number): Promise<string[]> {
  const fill = () => Promise.all(Array.from({ length: atOnce }, () => episode(runner, url)));
  await fill();
  const [began, cpu] = [performance.now(), process.cpuUsage()];
  for (let round = 0; round < ROUNDS; round += 1) await fill();
  const { user, system } = process.cpuUsage(cpu);
  const episodes = ROUNDS * atOnce;
  const seconds = (performance.now() - began) / 1000;
  return [
    String(atOnce),
    ((user + system) / 1000 / episodes).toFixed(2),
    ((seconds * MEMORY_MB) / 1024 / episodes).toFixed(4),
    (process.memoryUsage().rss / 2 ** 20).toFixed(0),
  ];
}

async function episode(runner: AgentRunner, url: string): Promise<void> {
  const { outcome } = runner.start({
    rollout: decodeMessage(JSON.stringify({ task_id: "t", main_query: "6 × 7?" }), "m"),
    attempt: { id: "invocation-1.1", episode: "e", global_step: 1 },
    grant: { openai_base_url: `${url}/v1`, openai_api_key: "key" },
    signal: new AbortController().signal,
    deadline: Date.now() + 600_000,
    allowUnusualRewards: false,
    alone: false,
    log: () => undefined,
  });
  const done = await outcome;
  if (done.kind !== "output") throw new Error(`expected the agent's output, found ${done.detail}`);
}

async function functionIn(folder: string): Promise<string> {
  const [source, outfile] = [join(folder, "agent.mjs"), join(folder, "function.mjs")];
  await writeFile(source, AGENT);
  await bundle(entries.rollout, outfile, { agent: source });
  return outfile;
}
