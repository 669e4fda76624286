/** Python agents on this machine, with the real kit. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { startPythonAgent } from "../../../local/agent/python-agent.ts";
import { npmStart } from "../../support/start-command.ts";

const timeout = 60_000;
const patient = { timeout: 30_000, interval: 50 };

function agentFile(source: string) {
  const folder = mkdtempSync(join(tmpdir(), "sortie-python-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "my_agent.py");
  writeFileSync(file, source);
  return file;
}

async function started(source: string) {
  const lines: string[] = [];
  const file = agentFile(source);
  const agent = await startPythonAgent({ file, python: "python3", show: (line) => lines.push(line) });
  onTestFinished(() => agent.close());
  const ask = async () => {
    const task = { task_id: "t", main_query: "", metadata: {} };
    const _rollout = { sortie: { rollout: "run/r/train/0/t", attempt: "a.1" } };
    const reply = await fetch(`${agent.url}/invocations`, {
      method: "POST",
      body: JSON.stringify({ prompt: "", task, _rollout }),
    });
    return await reply.json();
  };
  return { file, lines, ask, agent };
}

describe("a Python agent", { timeout }, () => {
  test("is served, and its lines name their rollout", async () => {
    const { ask, lines } = await started(
      "print('loading')\ndef rollout(task, episode):\n    print('hello')\n    return 0.5\n",
    );
    expect(await ask()).toEqual({ reward: 0.5 });
    await vi.waitFor(() => expect(lines).toEqual(["[run/r/train/0/t] hello"]), patient);
  });

  test("starts anew at the same address when its file is saved, and says what is wrong with it", async () => {
    const { file, ask, lines } = await started("def rollout(task, episode):\n    return 1\n");
    expect(await ask()).toEqual({ reward: 1 });
    writeFileSync(file, "import no_such_package\n");
    await vi.waitFor(
      () =>
        expect(lines.join("\n")).toMatch(
          /my_agent\.py:1 imports no_such_package, which .* pip install no_such_package/,
        ),
      patient,
    );
    writeFileSync(file, "def rollout(task, episode):\n    return 0.25\n");
    await vi.waitFor(() => expect(lines.at(-1)).toBe(`${file} was saved: started again`), patient);
    expect(await ask()).toEqual({ reward: 0.25 });
  });

  test.each([
    ["import no_such_package\n", /my_agent\.py:1 imports no_such_package/],
    ["x = 1\n1 / 0\n", /my_agent\.py:2 cannot be loaded[\s\S]*ZeroDivisionError/],
    ["def other(task): pass\n", /expected a function `rollout\(task, episode\)`.*it defines other/],
  ])("that cannot be served says why: %j", async (source, words) => {
    await expect(started(source)).rejects.toThrow(words);
  });

  test("needs a Python", async () => {
    const given = { file: agentFile(""), python: "no-such-python", show: () => undefined };
    await expect(startPythonAgent(given)).rejects.toThrow(/expected Python 3\.10 or newer as no-such-python/);
  });
});

describe("npm start with an agent in Python", { timeout: 120_000 }, () => {
  test.each(["math_agent", "calculator_agent"])("ends its rollouts: %s", async (name) => {
    const { code, out, err } = await npmStart(
      ...["--agent", `agents/python/examples/${name}.py`, "--rollouts", "8", "--json"],
    ).done;
    expect({ code, err: code === 0 ? "" : err }).toEqual({ code: 0, err: "" });
    expect(JSON.parse(out)).toMatchObject({ pushed: 8, ended: 8, engine_duplicate_ended: 0, engine_open: 0 });
    expect(JSON.parse(out).reward_mean).toBeGreaterThan(0);
  });

  test("shows what it says, and counts what it throws", async () => {
    const file = agentFile("def rollout(task, episode):\n    raise KeyError('reference')\n");
    const { code, out, err } = await npmStart("--agent", file, "--rollouts", "2", "--json").done;
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ pushed: 2, ended: 0, dead: 2 });
    expect(err).toMatch(/agent: \[run\/local-\w+\/train\/\d\/problem-0001\] KeyError: 'reference'/);
  });

  test("an agent that always gives its episodes back is bounded by maxDiscards", async () => {
    const file = agentFile(
      "import sortie_agent\ndef rollout(task, episode):\n    raise sortie_agent.Discard('no sandbox')\n",
    );
    const settings = join(dirname(file), "cdk.json");
    writeFileSync(settings, JSON.stringify({ context: { maxDiscards: 2, maxAttempts: 1 } }));
    const options = ["--agent", file, "--settings", settings, "--rollouts", "2", "--json"];
    const { code, out, err } = await npmStart(...options).done;
    expect({ code, err: code === 0 ? "" : err }).toEqual({ code: 0, err: "" });
    // Twice for nothing, then it is an attempt, of which each has one.
    expect(JSON.parse(out)).toMatchObject({ pushed: 2, ended: 0, dead: 2, attempts: 6, engine_open: 0 });
  });
});
