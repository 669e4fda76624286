/** What it costs to run agents beside the function's own thread, for one that returns at once: `npm run bench:agents`. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import Table from "cli-table3";
import { AgentHosts } from "../functions/adapters/agents/index.ts";
import { decodeMessage } from "../functions/core/rollout/message.ts";
import { agentsHere } from "../functions/core/rollout/perform-agent.ts";
import { entries } from "../functions/entries.ts";
import { bundle } from "../local/bundle.ts";
import { machine } from "./machine.ts";

const SHARED_EPISODES = 1000;
const ALONE_EPISODES = 20;
/** Tells what its thread or process has used so far. */
const AGENT = `export default async () => {
  const { user, system } = process.cpuUsage();
  return { reward: 1, metadata: { rss: process.memoryUsage().rss, cpu: (user + system) / 1000 } };
};`;

type Runner = Pick<AgentHosts, "start">;
interface Told {
  readonly rss: number;
  /** ms. */
  readonly cpu: number;
}

const opened: AgentHosts[] = [];
const folder = await mkdtemp(join(tmpdir(), "sortie-bench-"));
try {
  const source = join(folder, "agent.mjs");
  await writeFile(source, AGENT);
  const entry = join(folder, "function.mjs");
  await bundle(entries.rollout, entry, { agent: source });
  const { default: agent } = await import(source);
  const noModel = () => ({
    chat: () => Promise.reject(new Error("no model")),
    calls: () => 0,
    lastCallAt: () => undefined,
  });
  const table = new Table({
    head: ["agents", "until the first has ended, ms", "ms an episode", "CPU ms an episode", "memory, MB"],
    colAligns: ["left", "right", "right", "right", "right"],
    style: { head: [], border: [] },
  });
  table.push(["in the function's thread", ...(await shared(() => agentsHere(agent, noModel)))]);
  table.push(["in a thread that all share", ...(await shared(() => open(entry)))]);
  table.push(["in a process each", ...(await alone(open(entry)))]);
  process.stdout.write(`${table.toString()}\n${machine()}\n`);
} finally {
  // Their threads would keep this process alive.
  for (const hosts of opened) hosts.close();
  await rm(folder, { recursive: true });
}

function open(entry: string): AgentHosts {
  const hosted = { engineUrl: "http://127.0.0.1:1", guarded: false };
  const log = () => undefined;
  const hosts = new AgentHosts({ entry, hosted, environment: {}, memoryMb: 4096, blockSeconds: 20, log });
  opened.push(hosts);
  return hosts;
}

async function episode(runner: Runner, alone: boolean): Promise<Told> {
  const { outcome } = runner.start({
    rollout: decodeMessage(JSON.stringify({ task_id: "t" }), "m"),
    grant: { openai_base_url: "http://127.0.0.1:1/v1", openai_api_key: "key" },
    signal: new AbortController().signal,
    deadline: Date.now() + 600_000,
    allowUnusualRewards: false,
    alone,
    log: () => undefined,
  });
  const done = await outcome;
  if (done.kind !== "output") throw new Error(`expected the agent's output, found ${done.detail}`);
  return done.output.metadata as unknown as Told;
}

/** One after another, after a first one that everything is started for. */
async function shared(start: () => Runner): Promise<string[]> {
  const [before, began] = [process.memoryUsage().rss, performance.now()];
  const runner = start();
  await episode(runner, false);
  const [started, cpu] = [performance.now(), process.cpuUsage()];
  const memory = process.memoryUsage().rss - before;
  for (let count = 0; count < SHARED_EPISODES; count += 1) await episode(runner, false);
  const { user, system } = process.cpuUsage(cpu);
  const each = (performance.now() - started) / SHARED_EPISODES;
  return row(started - began, each, (user + system) / 1000 / SHARED_EPISODES, memory);
}

/** A process each: each pays for its start. */
async function alone(runner: AgentHosts): Promise<string[]> {
  const began = performance.now();
  const told = [await episode(runner, true)];
  const started = performance.now();
  for (let count = 1; count < ALONE_EPISODES; count += 1) told.push(await episode(runner, true));
  const each = (performance.now() - started) / (ALONE_EPISODES - 1);
  return row(started - began, each, mean(told.map(({ cpu }) => cpu)), mean(told.map(({ rss }) => rss)));
}

function row(startMs: number, eachMs: number, cpuMs: number, bytes: number): string[] {
  return [startMs.toFixed(1), eachMs.toFixed(2), cpuMs.toFixed(2), (bytes / 2 ** 20).toFixed(0)];
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
