/** The commands, options and the agent that `README.md` shows. `settings.test.ts` and `links.test.ts` do the rest. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { processIo } from "../../cli/io.ts";
import { createProgram } from "../../cli/program.ts";
import type { ChatRequest, Task } from "../../functions/contract/agent.ts";
import { decodeMessage } from "../../functions/core/rollout/message.ts";
import { decodeSettings } from "../../lib/settings.ts";
import { allKinds } from "../../local/chaos/kinds.ts";
import { createModel } from "../../local/engine/model.ts";
import { readOptions } from "../../local/job/options.ts";
import { settings as localSettings } from "../../local/job/settings.ts";
import { generateProblems } from "../../local/problems/problems.ts";
import manifest from "../../package.json" with { type: "json" };
import { makeTask, says, scripted } from "../agents/episode.ts";
import agent from "../agents/samples/readme.ts";
import { blocks, readPage, words } from "./blocks.ts";

const root = join(import.meta.dirname, "../..");
const readme = readPage("README.md");
/** One command a line; what follows `&&` is a command of its own. */
const commands = [
  ...new Set(blocks(readme, "sh").flatMap((block) => block.split(/\n|&&/).map((line) => line.trim()))),
];

describe("every command is run by CI", () => {
  /** Command, the file that has it run, and the words there. CI starts in `.ci/run`. */
  const runBy: Record<string, readonly (readonly [file: string, words: string])[]> = {
    "npm ci": [[".ci/run", "\nnpm ci\n"]],
    "npm start": [[".ci/run", "\nnpm start\n"]],
    "npm test": [
      [".ci/run", "\nnpm run check\n"],
      ["package.json", "npm test && npm run synth"],
    ],
    "npm start -- --fleets 'math=0.4,code=0.6*5'": [
      [".ci/run", "\nnpm start -- --fleets 'math=0.4,code=0.6*5'\n"],
    ],
    "npm run chaos": [
      [".ci/run", "\nnpm run chaos:ci\n"],
      ["package.json", '"chaos:ci": "node local/chaos/main.ts --seed '],
    ],
    "npx cdk synth --quiet -c engineUrl=http://10.0.0.7:10086": [
      ["package.json", '"synth": "cdk synth --quiet -c engineUrl=http://10.0.0.7:10086"'],
    ],
    "npx cdk bootstrap": [
      [".ci/run", "\n.ci/deploy-check\n"],
      [".ci/deploy-check", "test/deploy/check.ts"],
      ["test/deploy/deployment.ts", '["bootstrap", '],
    ],
    "npx cdk deploy": [
      [".ci/deploy-check", "test/deploy/check.ts"],
      ["test/deploy/deployment.ts", '["deploy", '],
    ],
    "aws sqs send-message": [
      [".ci/run", "\n.ci/clients-check\n"],
      [".ci/clients-check", "test/docs/aws-clients.test.ts"],
      ["test/docs/aws-clients.test.ts", "aws sqs send-message"],
    ],
    "npx sortie init ../my-rollouts": [
      [".ci/run", "\n.ci/project-check\n"],
      [".ci/project-check", "\nnpx sortie init "],
    ],
    "npx sortie": [["test/docs/readme.test.ts", "command lines of sortie"]],
  };

  /** The entry for a command: the whole of it, or its beginning where the rest is settings or arguments. */
  const entryOf = (command: string) =>
    Object.keys(runBy).find(
      (known) =>
        command === known ||
        (/^(npx cdk bootstrap|npx cdk deploy|aws sqs send-message|npx sortie)$/.test(known) &&
          command.startsWith(`${known} `)),
    );

  test.each(commands)("%s", (command) => {
    const entry = entryOf(command);
    expect(entry, "add it to the list, and to what CI runs").toBeTypeOf("string");
    for (const [file, found] of runBy[entry ?? ""] ?? [])
      expect(readFileSync(join(root, file), "utf8"), `${file} runs ${command}`).toContain(found);
  });

  test("the list has no command that the page does not have", () => {
    expect(new Set(commands.map(entryOf))).toEqual(new Set(Object.keys(runBy)));
  });

  test("what CI runs with other options is the same program", () => {
    expect(manifest.scripts.start).toBe("node local/start.ts");
    expect(manifest.scripts["chaos:ci"].startsWith(`${manifest.scripts.chaos} `)).toBe(true);
    expect(manifest.scripts.check).toContain("npm run lint && npm run types && npm test");
  });
});

describe("command lines", () => {
  const silent = { ...processIo, out: () => undefined, err: () => undefined };
  /** The program, whose commands do nothing. */
  const parser = () => {
    const program = createProgram(silent);
    const leaves = (command: typeof program): (typeof program)[] =>
      command.commands.length === 0 ? [command] : command.commands.flatMap((one) => leaves(one));
    for (const command of leaves(program)) command.action(() => undefined);
    return program;
  };

  const ofSortie = commands.filter((line) => line.startsWith("npx sortie "));
  test.each(ofSortie)("command lines of sortie: %s", async (line) => {
    await parser().parseAsync(words(line).slice(2), { from: "user" });
  });

  test("the list of sortie's commands is whole", () => {
    const [, list = ""] = readme.split(/^\| command +\|/m);
    for (const command of parser().commands) expect(list).toMatch(new RegExp(`\`${command.name()}\`.* \\|`));
  });

  test.each(commands.filter((line) => line.startsWith("npx cdk deploy ")))("the settings of %s", (line) => {
    const given = words(line)
      .filter((_, index, all) => all[index - 1] === "-c")
      .map((setting) => setting.split("=") as [string, string]);
    const context = Object.fromEntries(given);
    const ours = context["agent"] === undefined ? {} : { agent: join(root, "test/agents/samples/readme.ts") };
    const settings = decodeSettings({ ...context, ...ours });
    expect(settings.engines["main"]?.url).toBe("http://10.0.0.7:10086");
  });

  test("the options of npm start are those of the program, with its defaults", () => {
    const [, after = ""] = readme.split("| option of `npm start --`");
    const [table = ""] = after.split("\n\n");
    const rows = table.split("\n").filter((row) => row.startsWith("| `--"));
    const shown = rows.map((row) => row.split("|").map((cell) => cell.replaceAll("`", "").trim()));
    const source = readPage("local/job/options.ts");
    const names = [...source.matchAll(/"--([a-z-]+)(?: <|")/g)].map(([, name]) => name);
    expect(shown.map(([, option = ""]) => /^--([a-z-]+)/.exec(option)?.[1]).toSorted()).toEqual(
      names.toSorted(),
    );
    const options = readOptions(["node", "local/start.ts"]);
    const { rollouts, repeats, seed, engineVersion } = options;
    const { agent } = decodeSettings(localSettings(options, "http://127.0.0.1:1", {})).fleets["main"] ?? {};
    const defaults = shown.flatMap(([, option, , fallback]) => (fallback ? [[option, fallback]] : []));
    expect(defaults).toEqual([
      ["--rollouts N", String(rollouts)],
      ["--repeats N", String(repeats)],
      ["--agent NAME", agent],
      ["--python COMMAND", options.python],
      ["--settings FILE", "cdk.json"],
      ["--engine-version V", engineVersion],
      ["--seed N", String(seed)],
    ]);
  });
});

describe("the agent", () => {
  test("is the sample that is type-checked and run here", () => {
    const [code = ""] = blocks(readme, "ts");
    const sample = readPage("test/agents/samples/readme.ts");
    // The page deploys `./my-agent.ts`, so the import of the interface starts from the project's folder.
    expect(code).toBe(sample.replace('"../../../agents/', '"./agents/').trim());
  });

  test("is what a project begins with, which imports the interface from the package", () => {
    const sample = readPage("test/agents/samples/readme.ts");
    expect(readPage("cli/init/template/agent.ts")).toBe(
      sample.replace('"../../../agents/agent.ts"', '"sortie/agent"'),
    );
  });

  test.each([
    ["It is 42.", 1],
    ["It is 41.", 0],
    [null, 0],
  ])("rewards %j with %d", async (content, reward) => {
    const task = makeTask({ metadata: { answer: 42 } });
    expect(await agent(task, scripted([says(content)]))).toEqual({ reward });
  });

  /** Its mean reward with the stand-in's model, where that has learnt for some steps. */
  async function meanReward(tasks: readonly Task[]): Promise<number> {
    const model = createModel({ tasks, seed: 1 });
    const rewards = tasks.flatMap((task) =>
      [1, 2, 3, 4].map(async (repeat) => {
        const episode = { globalStep: 6, episodeUuid: `${task.task_id}-${repeat}` };
        const chat = async (request: ChatRequest) => model(request, episode).message;
        return (await agent(task, { ...scripted([]), chat })).reward;
      }),
    );
    return (
      (await Promise.all(rewards)).reduce<number>((sum, reward) => sum + Number(reward), 0) / rewards.length
    );
  }

  test("earns rewards on the generated tasks", async () => {
    expect(await meanReward(generateProblems({ seed: 1, count: 24 }))).toBeGreaterThan(0.5);
  });

  test("earns rewards on GSM8K as it is published", async () => {
    const lines = readFileSync(join(root, "test/data/gsm8k-sample.jsonl"), "utf8").trim().split("\n");
    const tasks = lines.map((line, index) => {
      const { question, answer } = JSON.parse(line) as { question: string; answer: string };
      return makeTask({ task_id: `gsm8k-${index}`, main_query: question, metadata: { answer } });
    });
    expect(await meanReward(tasks)).toBeGreaterThan(0.5);
  });

  test("earns rewards on the page's own task", async () => {
    const [, body = ""] = /--message-body '(.*)'/.exec(readme) ?? [];
    expect(await meanReward([decodeMessage(body, "m1").task])).toBeGreaterThan(0.5);
  });

  test("throws where the task has no answer, rather than to give it 0", async () => {
    await expect(agent(makeTask({ metadata: {} }), scripted([]))).rejects.toThrow("has no number");
  });
});

test("there are as many kinds of faults as it says", () => {
  expect(readme).toContain("more than forty kinds of faults");
  expect(allKinds.length).toBeGreaterThan(40);
});
