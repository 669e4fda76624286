/** `sortie agent try`, with the real command. */
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import type { Task } from "../../functions/contract/agent.ts";
import { remoteModel } from "../../local/engine/remote-model.ts";
import { conversationText } from "../../local/try/conversation.ts";
import { tryAgent } from "../../local/try/run.ts";
import { makeTask } from "../agents/episode.ts";

const timeout = 60_000;
const root = join(import.meta.dirname, "../..");
const folder = mkdtempSync(join(tmpdir(), "sortie-agent-try-"));
afterAll(() => rmSync(folder, { recursive: true }));

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

async function tried(agent: string, tasks: readonly Task[], options: object = {}) {
  const said: string[] = [];
  const rewarded = await tryAgent(tasks, { agent, timeoutSeconds: 20, ...options }, (text) =>
    said.push(text),
  );
  return { rewarded, said: said.join("") };
}

const ASK = "const reply = await episode.chat({ messages: [{ role: 'user', content: task.main_query }] });";

describe("a Python agent that is tried", () => {
  const python = (name: string, body: string) =>
    file(
      name,
      `def rollout(task, episode):\n    reply = episode.chat([{"role": "user", "content": task.main_query}])\n${body}`,
    );

  test("by the command: conversation, reward and what it printed", { timeout }, () => {
    const agent = python(
      "good.py",
      '    print("so it said")\n    return {"reward": 0.5, "metrics": {"turns": 1}}\n',
    );
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      ["cli/sortie.ts", "agent", "try", agent, "--limit", "1"],
      { cwd: root, encoding: "utf8" },
    );
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(stdout).toMatch(
      /^problem-0001\n {2}user:\n {4}\S.*\n {2}assistant:\n {4}Let me.*\n {2}\| so it said\n/,
    );
    expect(stdout).toMatch(
      /\n {2}reward 0\.5, 1 model call\(s\), \d+\.\d s\n {2}log_metrics \{"turns":1\}\n$/,
    );
  });

  test("is told by its own lines where it throws", { timeout }, async () => {
    const { rewarded, said } = await tried(python("bad.py", '    return {"reward": reply["nothing"]}\n'), [
      makeTask(),
    ]);
    expect(rewarded).toBe(false);
    expect(said).toMatch(/\n {2}\| {3}File ".*bad\.py", line 3, in rollout\n/);
    expect(said).toMatch(/\n {2}agent-error, 1 model call\(s\), .* s\n {2}KeyError: 'nothing'\n$/);
  });

  test("that cannot be loaded says what is missing, and where", { timeout }, async () => {
    const { rewarded, said } = await tried(file("missing.py", "import numpyy\n"), [makeTask()]);
    expect(rewarded).toBe(false);
    expect(said).toMatch(
      /missing\.py cannot be loaded:\n.*missing\.py:1 imports numpyy, which .* does not have/,
    );
  });

  test("at an address where nobody is", async () => {
    const { rewarded, said } = await tried("http://127.0.0.1:9", [makeTask()]);
    expect(rewarded).toBe(false);
    expect(said).toMatch(
      /\n {2}agent-unreachable, 0 model call\(s\), .*\n {2}no agent at http:\/\/127\.0\.0\.1:9/,
    );
  });
});

describe("an agent that is tried", () => {
  test("by the command: conversation, reward and time", { timeout }, () => {
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      ["cli/sortie.ts", "agent", "try", "agents/math.ts", "--limit", "1"],
      { cwd: root, encoding: "utf8" },
    );
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(stdout).toMatch(
      /^problem-0001\n {2}system:\n {4}Solve .*\n {2}user:\n {4}\S.*\n {2}assistant:\n {4}Let me/,
    );
    expect(stdout).toMatch(/\n {2}reward [01], 1 model call\(s\), \d+\.\d s\n {2}metadata \{/);
  });

  test("is told by its own lines where it throws", async () => {
    const agent = file(
      "throws.ts",
      `export default async (task, episode) => {\n${ASK}\nreturn { reward: reply.nothing.length };\n};`,
    );
    const { rewarded, said } = await tried(agent, [makeTask()]);
    expect(rewarded).toBe(false);
    expect(said).toMatch(/\n {2}agent-error, 1 model call\(s\), .*\n {2}TypeError: .*\n/);
    expect(said).not.toContain("performAgent");
  });

  test.each([
    [
      "nothing.ts",
      "export const agent = 1;",
      /nothing\.ts cannot be loaded:\n {2}TypeError: expected a function as its default export/,
    ],
    [
      "wrong.ts",
      "export default async () => ({ reward: 'one' });",
      /\n {2}invalid-output, 0 model call\(s\), .*\n {2}expected a finite number as reward, found "one"/,
    ],
  ])("says what is wrong: %s", async (name, code, words) => {
    const { rewarded, said } = await tried(file(name, code), [makeTask()]);
    expect(rewarded).toBe(false);
    expect(said).toMatch(words);
  });

  test("that never ends is left at its time", async () => {
    const agent = file("endless.ts", "export default () => new Promise(() => {});");
    const { rewarded, said } = await tried(agent, [makeTask()], { timeoutSeconds: 1 });
    expect(rewarded).toBe(false);
    expect(said).toContain("the agent was not done after 1 s");
  });

  test("on a task without an answer is told that the stand-in guessed", async () => {
    const agent = file(
      "asks.ts",
      `export default async (task, episode) => {\n${ASK}\nreturn { reward: 0 };\n};`,
    );
    const { said } = await tried(agent, [makeTask({ main_query: "Why?", metadata: {} })]);
    expect(said).toContain("The stand-in's model knows no answer to this task");
    expect((await tried(agent, [makeTask()])).said).not.toContain("knows no answer");
  });

  test("with another model asks that one, by the name that it lists and with its key", async () => {
    const asked: unknown[] = [];
    const server = createServer((request, response) => {
      let body = "";
      request.on("data", (part) => {
        body += part;
      });
      request.on("end", () => {
        const model = body === "" ? undefined : JSON.parse(body).model;
        asked.push([request.url, request.headers.authorization, model]);
        const choices = [{ message: { role: "assistant", content: "from elsewhere" } }];
        response.end(
          JSON.stringify(request.url === "/v1/models" ? { data: [{ id: "small" }] } : { choices }),
        );
      });
    });
    onTestFinished(() => void server.close());
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const model = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
    const agent = file(
      "other.ts",
      `export default async (task, episode) => {\n${ASK}\nreturn { reward: 0 };\n};`,
    );
    const { rewarded, said } = await tried(agent, [makeTask()], { model, apiKey: "sk-secret-key" });
    expect(rewarded).toBe(true);
    expect(said).toContain("    from elsewhere\n");
    expect(said).not.toContain("sk-secret-key");
    expect(asked).toEqual([
      ["/v1/models", "Bearer sk-secret-key", undefined],
      ["/v1/chat/completions", "Bearer sk-secret-key", "small"],
    ]);
  });
});

test("a server without a list of models says to name one", async () => {
  const server = createServer((_, response) => void response.end("{}"));
  onTestFinished(() => void server.close());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  const { signal } = new AbortController();
  await expect(remoteModel(url, {})("/chat/completions", {}, signal)).rejects.toThrow(
    "name one with --model-name",
  );
});

test("a conversation says each message once, folds what tools say, and cannot control the terminal", () => {
  const user = { role: "user", content: "2+2?\u001b[2J" };
  const call = {
    role: "assistant",
    content: null,
    tool_calls: [{ id: "1", type: "function" as const, function: { name: "calculator", arguments: "{}" } }],
  };
  const tool = { role: "tool", content: "x".repeat(500), tool_call_id: "1" };
  const answer = (message: object) => ({ status: 200, body: JSON.stringify({ choices: [{ message }] }) });
  const text = conversationText([
    { messages: [user], answer: answer(call) },
    { messages: [user, call, tool], answer: { status: 500, body: "busy" } },
  ]);
  expect(text).toBe(
    "  user:\n    2+2?\ufffd[2J\n  assistant:\n    → calculator({})\n" +
      `  tool:\n    ${"x".repeat(400)}… (100 characters more)\n  no answer: HTTP 500, busy`,
  );
});

test("an agent's types are checked beside its run: a warning, and with --strict an error", {
  timeout,
}, () => {
  const agent = file("typed.ts", "const reward: string = 1;\nexport default async () => ({ reward });\n");
  const tried = (...more: string[]) =>
    spawnSync(process.execPath, ["cli/sortie.ts", "agent", "try", agent, "--limit", "1", ...more], {
      cwd: root,
      encoding: "utf8",
    });
  const warned = tried();
  expect(warned.stderr).toBe(
    `warning: the agent's types are wrong:\n  ${agent}(1,7): error TS2322: Type 'number' is not assignable to type 'string'.\n`,
  );
  expect(warned.stdout).toContain("\n  reward 1, 0 model call(s), ");
  expect(warned.status).toBe(0);
  const strict = tried("--strict");
  expect(strict.stderr).toContain("the agent's types are wrong:\n");
  expect(strict.status).toBe(1);
});

test("with --watch it runs again after each change, until it is stopped", { timeout }, async () => {
  const agent = file("watched.ts", "export default async () => ({ reward: 0.25 });\n");
  const child = spawn(process.execPath, ["cli/sortie.ts", "agent", "try", agent, "--limit", "1", "--watch"], {
    cwd: root,
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let said = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk) => {
      said += String(chunk);
    });
  const waits = () => said.split("waiting for a change …").length - 1;
  await expect.poll(waits, { timeout: 30_000 }).toBe(1);
  expect(said).toContain("reward 0.25");
  writeFileSync(agent, "export default async () => { throw new Error('a slip'); };\n");
  await expect.poll(() => said, { timeout: 30_000 }).toContain("Error: a slip");
  await expect.poll(waits, { timeout: 30_000 }).toBeGreaterThanOrEqual(2);
  writeFileSync(agent, "export default async () => ({ reward: 0.75 });\n");
  await expect.poll(() => said, { timeout: 30_000 }).toContain("reward 0.75");
});

test("an agent that never gives the event loop back is ended, by its line", { timeout }, () => {
  const agent = file("spins.ts", "export default async () => {\n  for (;;) {\n    Math.random();\n  }\n};\n");
  const ran = spawnSync(
    process.execPath,
    ["cli/sortie.ts", "agent", "try", agent, "--limit", "1", "--timeout", "2"],
    { cwd: root, encoding: "utf8" },
  );
  expect(ran.stdout).toMatch(/the agent blocked the event loop for 2 s, at \S*spins\.ts:[23]: /);
  expect([ran.status, ran.stderr]).toEqual([1, "sortie: not every task got a reward: see above\n"]);
});
