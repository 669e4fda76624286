import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { AgentHosts, type RunnerOptions } from "../../../../functions/adapters/agents/index.ts";
import { agentEnvironment } from "../../../../functions/agent-environment.ts";
import { AttemptAborted } from "../../../../functions/core/rollout/agent.ts";
import type { AgentOutcome } from "../../../../functions/core/rollout/agent-runner.ts";
import { decodeMessage } from "../../../../functions/core/rollout/message.ts";
import { entries } from "../../../../functions/entries.ts";
import { bundle } from "../../../../local/bundle.ts";

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sortie-agents-"));
  await bundled("rude", join(import.meta.dirname, "rude-agent.ts"));
}, 30_000);
afterAll(() => rm(folder, { recursive: true }));

/** The rollout function as it is deployed, with this agent. */
async function bundled(name: string, agent: string): Promise<void> {
  // Those of agents that are blocked are told by the bundle's lines.
  await bundle(entries.rollout, join(folder, `${name}.mjs`), { agent, sourcemap: name === "broken" });
}

const BLOCK_SECONDS = 2;
const good = expect.objectContaining({ kind: "output" });
const blamed = (detail: RegExp) => ({
  kind: "failed",
  reason: "agent-error",
  detail: expect.stringMatching(detail),
});

function open(options: Partial<RunnerOptions> = {}, name = "rude") {
  const log = vi.fn();
  const hosts = new AgentHosts({
    entry: join(folder, `${name}.mjs`),
    hosted: { engineUrl: "http://127.0.0.1:1", guarded: options.token !== undefined },
    environment: {},
    memoryMb: 384,
    blockSeconds: BLOCK_SECONDS,
    log,
    ...options,
  });
  onTestFinished(() => hosts.close());
  const start = (env_type: string, { alone = false, url = "http://127.0.0.1:1/v1" } = {}) => {
    const controller = new AbortController();
    const agentLog = vi.fn();
    const running = hosts.start({
      rollout: decodeMessage(JSON.stringify({ task_id: "t", env_type }), "m"),
      grant: { openai_base_url: url, openai_api_key: "sk-ajet-key" },
      signal: controller.signal,
      deadline: Date.now() + 60_000,
      allowUnusualRewards: false,
      alone,
      log: agentLog,
    });
    return { ...running, controller, log: agentLog };
  };
  const all = (...deeds: string[]): Promise<AgentOutcome[]> =>
    Promise.all(deeds.map((deed) => start(deed).outcome));
  return { hosts, start, all, log };
}

describe("an agent that would end the process", () => {
  test.each([
    ["exit", /^called process\.exit\(3\) at .*rude.*:\d+/],
    ["exit by its name", /^called process\.exit\(4\)/],
    ["abort", /^called process\.abort\(\)/],
    ["kill itself", /^called process\.kill\(\d+\)/],
    ["throw later", /^Error: nobody catches this \(thrown where nothing catches it\)$/],
  ])("(%s) fails by itself, in words that say what it did", async (deed, words) => {
    const { all } = open();
    expect(await all("", deed, "")).toEqual([good, blamed(words), good]);
  });

  test("is known by its own log, too", async () => {
    const { start } = open();
    const agent = start("exit");
    await agent.outcome;
    expect(agent.log.mock.calls).toEqual([
      ["info", "begun", {}],
      [
        "error",
        "an agent would have ended the process",
        { error: expect.stringMatching(/process\.exit\(3\)/) },
      ],
    ]);
  });
});

test("rejections that nobody handles are logged, ten for each agent, and end nothing", async () => {
  const { start } = open();
  const agent = start("reject later");
  expect(await agent.outcome).toEqual(good);
  const line = ["error", "unhandledRejection", { error: "Error: nobody handles this" }];
  expect(agent.log.mock.calls.slice(1)).toEqual(Array.from({ length: 10 }, () => line));
});

describe("an agent that blocks its thread", () => {
  test("is found, with the place in its code; its neighbours are not charged, and the next thread works", async () => {
    const { all, log } = open();
    const outcomes = await all("take its time", "spin", "take its time");
    const disturbed = {
      kind: "failed",
      reason: "disturbed",
      detail: expect.stringMatching(/^another agent in the same thread blocked the event loop for 2 s/),
    };
    expect(outcomes).toEqual([
      disturbed,
      blamed(/^the agent blocked the event loop for 2 s, in spinForever \(rude\.mjs:\d+:\d+\)$/),
      disturbed,
    ]);
    expect(log.mock.calls).toMatchObject([["error", "agents lost", { agents: 3, alone: false }]]);
    expect(await all("")).toEqual([good]);
  });

  test("where it cannot be told, makes suspects, and is charged once it runs alone", async () => {
    const { all, start } = open();
    const suspected = {
      kind: "failed",
      reason: "suspected",
      detail: "one of 2 agents in one thread blocked the event loop for 2 s",
    };
    expect(await all("wait for good", "take its time")).toEqual([suspected, suspected]);
    const [guilty, healthy] = await Promise.all([
      start("wait for good", { alone: true }).outcome,
      start("", { alone: true }).outcome,
    ]);
    expect(guilty).toEqual(blamed(/^the agent blocked the event loop for 2 s$/));
    expect(healthy).toEqual(good);
  });
});

describe("an agent that takes all memory", () => {
  test("makes suspects of its neighbours, and is charged once it runs alone", async () => {
    const { all, start } = open();
    const outcomes = await all("bloat", "take its time");
    for (const outcome of outcomes)
      expect(outcome).toEqual({
        kind: "failed",
        reason: "suspected",
        detail: "one of 2 agents in one thread used more than 230 MB of heap",
      });
    expect(await start("bloat", { alone: true }).outcome).toEqual(blamed(/more than 96 MB of heap$/));
  });
});

test("an agent alone that crashes as native code does ends nobody else", async () => {
  const { start } = open();
  const neighbour = start("take its time");
  expect(await start("crash", { alone: true }).outcome).toEqual(
    blamed(/^the agent ended its process by SIGSEGV$/),
  );
  neighbour.controller.abort(new AttemptAborted("deadline", "over"));
  expect(await start("").outcome).toEqual(good);
});

test("places for agents alone are bounded by the memory", () => {
  const { hosts } = open({ memoryMb: 512 });
  const places = [hosts.reserve(), hosts.reserve(), hosts.reserve()];
  expect(places.map((place) => place !== undefined)).toEqual([true, true, false]);
  places[0]?.release();
  expect(hosts.reserve()).toBeDefined();
});

test.each([false, true])("agents see the user's environment and none of ours (alone: %s)", async (alone) => {
  const environment = agentEnvironment({
    MY_SETTING: "on",
    AWS_REGION: "eu-central-1",
    AWS_ACCESS_KEY_ID: "a",
    AWS_SECRET_ACCESS_KEY: "b",
    AWS_SESSION_TOKEN: "c",
    AWS_LAMBDA_RUNTIME_API: "127.0.0.1:9001",
    SORTIE_TABLE: "table",
    GONE: undefined,
  });
  const { start } = open({ environment });
  const outcome = await start("", { alone }).outcome;
  const { env } = (outcome.kind === "output" ? outcome.output.metadata : {}) as { env: object };
  const own = Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith("NODE_")));
  expect(own).toEqual({ MY_SETTING: "on", AWS_REGION: "eu-central-1" });
});

async function modelServer(see: (request: IncomingMessage) => void): Promise<string> {
  const server = createServer((request, response) => {
    see(request);
    response.setHeader("content-type", "application/json");
    response.end('{"choices":[{"message":{"role":"assistant","content":"4"}}]}');
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test("an agent has its deadline by the machine's time; its last call is told by the function's", async () => {
  const { start } = open({ offsetMs: () => -300_000 });
  const running = start("ask", { url: `${await modelServer(() => undefined)}/v1` });
  const outcome = await running.outcome;
  const { deadline } = (outcome.kind === "output" ? outcome.output.metadata : {}) as { deadline: number };
  const minutes = (at: number) => Math.round((at - Date.now()) / 60_000);
  expect([minutes(deadline), minutes(running.lastCallAt() ?? 0)]).toEqual([6, -5]);
});

test.each([false, true])("model calls are counted and carry the proxy's token (alone: %s)", async (alone) => {
  const seen: unknown[] = [];
  const engineUrl = await modelServer(({ url, headers }) =>
    seen.push([url, headers["authorization"], headers["x-token"]]),
  );
  const token = async () => ({ headers: { "x-token": "secret" }, version: 0 });
  const { start } = open({ hosted: { engineUrl, guarded: true }, token });
  const agent = start("ask", { alone, url: `${engineUrl}/v1` });
  expect(await agent.outcome).toEqual(good);
  expect(seen).toEqual([["/v1/chat/completions", "Bearer sk-ajet-key", "secret"]]);
  expect(agent.calls()).toBe(1);
  expect(agent.lastCallAt()).toBeTypeOf("number");
});

test("a fleet whose agent cannot be loaded says so before it takes a message", async () => {
  const broken = join(import.meta.dirname, "broken-agent.ts");
  await bundled("broken", broken);
  const { hosts } = open({}, "broken");
  await expect(hosts.ready()).rejects.toThrow(
    /^the agent could not be loaded: Error: no such file: weights\.bin\n {2}at .*broken-agent\.ts:2:\d+\)?(\n|$)/,
  );
});
