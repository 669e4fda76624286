/** `npm start`, with the real command. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { systemClock } from "../../functions/system-clock.ts";
import { createModel } from "../../local/engine/model.ts";
import { startEngine } from "../../local/engine/start.ts";
import { generateProblems } from "../../local/problems/problems.ts";
import { atifFaults } from "../support/atif.ts";
import { sendJson, serve } from "../support/http-server.ts";
import { npmStart } from "../support/start-command.ts";

const timeout = 60_000;
const folder = mkdtempSync(join(tmpdir(), "sortie-job-"));
afterAll(() => rmSync(folder, { recursive: true }));

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

describe("npm start", () => {
  test("accounts for every rollout, ends with one JSON object, and keeps nothing", { timeout }, async () => {
    const started = npmStart("--rollouts", "8", "--json");
    const { code, out, err } = await started.done;
    expect({ code, err: code === 0 ? "" : err }).toEqual({ code: 0, err: "" });
    expect(out.trim().split("\n")).toHaveLength(1);
    const summary = JSON.parse(out);
    expect(summary).toEqual({
      pushed: 8,
      ended: 8,
      dead: 0,
      unknown: 0,
      lost: 0,
      deferred: expect.any(Number),
      attempts: 8,
      reward_mean: expect.any(Number),
      reward_range: expect.any(Array),
      reward_mean_by_step: { 1: summary.reward_mean },
      mix: { 1: { main: 2 } },
      global_step: 1,
      engine_ended: 8,
      engine_duplicate_ended: 0,
      engine_open: 0,
      seconds: expect.any(Number),
      seconds_to_first_ended: expect.any(Number),
    });
    expect(err).toMatch(/│ ended with a reward +│ +8 │/);
    expect(started.leftovers()).toEqual([]);
  });

  test("runs a task file against another engine, and keeps its state where told", { timeout }, async () => {
    const tasks = generateProblems({ seed: 5, count: 2 });
    const engine = await startEngine({
      clock: systemClock,
      seed: 1,
      model: createModel({ tasks, seed: 1 }),
      config: { batchTasks: 4, bootSeconds: 0 },
    });
    onTestFinished(() => engine.close());
    const path = file("tasks.jsonl", tasks.map((task) => `${JSON.stringify(task)}\n`).join(""));
    const keep = join(folder, "kept");
    const options = ["--tasks", path, "--repeats", "2", "--engine", engine.url, "--keep", keep, "--json"];
    const { code, out, err } = await npmStart(...options).done;
    expect({ code, err: code === 0 ? "" : err }).toEqual({ code: 0, err: "" });
    expect(JSON.parse(out)).toMatchObject({ pushed: 4, ended: 4, attempts: 4, engine_ended: null });
    expect(engine.summary()).toMatchObject({ endsAccepted: 4, open: 0 });
    const kept = ["deployment", "functions.log", "lock", "queues", "tables", "transcripts"];
    expect(readdirSync(keep).toSorted()).toEqual(kept);
    const talks = readdirSync(join(keep, "transcripts"), { recursive: true, encoding: "utf8" });
    const documents = talks
      .filter((name) => name.endsWith(".json"))
      .map((name) => JSON.parse(readFileSync(join(keep, "transcripts", name), "utf8")));
    expect(documents.flatMap(atifFaults)).toEqual([]);
    expect(documents.map(({ extra }) => extra.reason)).toEqual(["ended", "ended", "ended", "ended"]);
    expect(documents.every(({ steps }) => steps.at(-1).llm_call_count === 1)).toBe(true);
  });
});

test("--model asks a real model: its answers are the rewards, and its key is in no output", {
  timeout,
}, async () => {
  await using server = await serve(({ method, path, json, headers }, response) => {
    if (method === "GET") return sendJson(response, 200, { data: [{ id: "qwen" }] });
    const { messages = [] } = json as { messages?: { content: string }[] };
    const right = messages.some(({ content }) => content.includes("apples"));
    if (path !== "/v1/chat/completions" || headers.authorization !== "Bearer sk-secret1234")
      return response.end();
    const message = { role: "assistant", content: `\\boxed{${right ? 3 : 0}}` };
    return sendJson(response, 200, {
      choices: [{ message, finish_reason: "stop" }],
      usage: { prompt_tokens: 7, completion_tokens: 2 },
    });
  });
  const tasks = [
    { task_id: "apples", main_query: "1 + 2 apples?", metadata: { answer: "#### 3" } },
    { task_id: "pears", main_query: "2 + 2 pears?", metadata: { answer: "#### 4" } },
  ];
  const path = file("real.jsonl", tasks.map((task) => `${JSON.stringify(task)}\n`).join(""));
  const options = ["--tasks", path, "--repeats", "2", "--agent", "math", "--json"];
  vi.stubEnv("A_KEY", "sk-secret1234");
  const { code, out, err } = await npmStart(
    ...options,
    "--model",
    `${server.url}/v1`,
    "--api-key-env",
    "A_KEY",
  ).done;
  vi.unstubAllEnvs();
  expect({ code, err: code === 0 ? "" : err }).toEqual({ code: 0, err: "" });
  expect(JSON.parse(out)).toMatchObject({ ended: 4, reward_mean: 0.5, reward_range: [0, 1] });
  const asked = server.received.filter(({ method }) => method === "POST").map(({ json }) => json);
  expect(asked).toHaveLength(4);
  expect(asked[0]).toMatchObject({ model: "qwen" });
  expect(`${out}${err}`).not.toContain("secret1234");
});

test("the stand-in's model says which tasks it has no answer to, and a key that is not there is missed", {
  timeout,
}, async () => {
  const path = file(
    "unanswered.jsonl",
    `${JSON.stringify({ task_id: "a", main_query: "Why?", metadata: { reference: "so" } })}\n`,
  );
  const options = ["--tasks", path, "--repeats", "1"];
  expect((await npmStart(...options, "--agent", "math").done).err).toContain(
    "warning: the stand-in's model knows the answers of 0 of your 1 tasks, and guesses at the others",
  );
  const keyless = await npmStart(
    ...options,
    "--model",
    "http://127.0.0.1:9/v1",
    "--api-key-env",
    "NO_SUCH_KEY",
  ).done;
  expect(keyless.code).toBe(1);
  expect(keyless.err).toContain("expected the variable NO_SUCH_KEY to hold the key, found it unset");
});

test("an agent that always fails is told by its line, and stops the run", { timeout }, async () => {
  const agent = file(
    "throws.ts",
    "export default async (task, episode) => {\n" +
      "  await episode.chat({ messages: [{ role: 'user', content: task.main_query }] });\n" +
      "  return { reward: task.metadata.nothing.length };\n};\n",
  );
  const { code, err, out } = await npmStart("--agent", agent, "--rollouts", "16").done;
  expect(code).toBe(1);
  expect(err).toMatch(
    /run\/local-\w+\/train\/\d\/problem-\d+: agent-error\n {2}TypeError: .*\n {4}at .*throws\.ts:3:/,
  );
  expect(err).toMatch(
    /stopped: 0 of 16 rollouts had ended, 16 were left\ngiven up: \d+ attempts failed one after another/,
  );
  expect(err).toMatch(/\n\d+ times: agent-error: TypeError: .*throws\.ts:3:\d+\)/);
  expect(err).not.toContain("not accounted for");
  expect(out).toMatch(/│ rollouts pushed +│ +16 │/);
});

test("a run whose rewards are all equal says so", { timeout }, async () => {
  const agent = file(
    "zero.ts",
    "export default async (task, episode) => {\n" +
      "  await episode.chat({ messages: [{ role: 'user', content: task.main_query }] });\n" +
      "  return { reward: 0 };\n};\n",
  );
  const { code, err } = await npmStart("--agent", agent, "--rollouts", "4").done;
  expect(code).toBe(0);
  expect(err).toMatch(/\nall 4 rewards are 0: the trainer learns nothing from them\./);
});

test("two systems at once on one engine leave each other's episodes alone", { timeout }, async () => {
  // Longer than a tick: each lifecycle function sees the episodes of the other.
  const ended = { message: { role: "assistant" as const, content: "4" }, seconds: 8 };
  const config = { batchTasks: 100, bootSeconds: 0 };
  const engine = await startEngine({ clock: systemClock, seed: 1, model: () => ended, config });
  onTestFinished(() => engine.close());
  const runs = [5, 6].map((seed) => {
    const tasks = generateProblems({ seed, count: 2 });
    const path = file(`tasks-${seed}.jsonl`, tasks.map((task) => `${JSON.stringify(task)}\n`).join(""));
    return npmStart("--tasks", path, "--repeats", "2", "--engine", engine.url, "--json").done;
  });
  for (const { code, out, err } of await Promise.all(runs)) {
    expect({ code, err: code === 0 ? "" : err }).toEqual({ code: 0, err: "" });
    expect(JSON.parse(out)).toMatchObject({ pushed: 4, ended: 4, attempts: 4 });
  }
  expect(engine.summary()).toMatchObject({ endsAccepted: 8, open: 0 });
});

describe("npm start with bad input pushes nothing, and says what is wrong:", () => {
  test("faulty lines of a task file, by their numbers", { timeout }, async () => {
    const path = file(
      "bad.jsonl",
      '{"task_id":"a","main_query":"?"}\n\n{bad\n{"task_id":""}\n[]\n{"task_id":"a","main_query":"!"}\n',
    );
    const { code, out, err } = await npmStart("--tasks", path).done;
    expect({ code, out }).toEqual({ code: 1, out: "" });
    expect(err).toBe(
      'bad.jsonl:3: expected a task as JSON, found "{bad"\n' +
        "bad.jsonl:4: not a rollout: task_id: expected a task_id that is not empty: the engine groups rewards by it\n" +
        'bad.jsonl:5: expected a JSON object with a task, found "[]"\n' +
        'bad.jsonl:6: task_id "a" stands at bad.jsonl:1 already: give each task its own, or use --repeats\n' +
        `${path}: 4 faulty record(s), so nothing was pushed\n`,
    );
  });

  const inputs: [string, () => string[], RegExp][] = [
    [
      "a missing file",
      () => ["--tasks", join(folder, "none")],
      /none: expected a file of tasks, found no such file\n$/,
    ],
    [
      "an empty file",
      () => ["--tasks", file("empty", "\n\n")],
      /: expected at least one task, found none\n$/,
    ],
    [
      "an unknown option",
      () => ["--rolouts", "4"],
      /^unknown option '--rolouts' \(Did you mean --rollouts\?\): see npm start -- --help\n$/,
    ],
    ["a number that is none", () => ["--seed", "x"], /argument 'x' is invalid. expected a whole number\./],
    ["no rollouts", () => ["--rollouts", "0"], /expected a whole number above 0\./],
    [
      "an address that is none",
      () => ["--engine", "gpu"],
      /argument 'gpu' is invalid. expected a URL such as/,
    ],
    [
      "a folder that cannot be",
      () => ["--keep", file("f", "")],
      /^.+ are being built …\n--keep .+: expected a folder .+\(EEXIST\): name another folder\n$/,
    ],
  ];
  test.each(inputs)("%s", { timeout }, async (_, args, words) => {
    const { code, out, err } = await npmStart(...args()).done;
    expect({ code, out }).toEqual({ code: 1, out: "" });
    expect(err).toMatch(words);
    expect(err).not.toMatch(/^\s+at /m);
  });

  test("a setting in the file of settings that the deployment would refuse", { timeout }, async () => {
    const path = file("settings.json", '{"context": {"timeoutSeconds": 5000}}');
    const { code, err } = await npmStart("--settings", path).done;
    expect(code).toBe(1);
    expect(err).toMatch(/^.+ are being built …\nfrom cdk\.json: timeoutSeconds\n/);
    expect(err).toMatch(/settings need a change:\n {2}- timeoutSeconds: .+5000/);
  });

  describe("a folder that cannot be written to, for root either", () => {
    /** Below a file nothing can be made, whoever asks. */
    const nowhere = () => join(file("a-file", ""), "folder");
    const words = (who: string, folder: string, remedy: string) =>
      `${who}: expected a folder that can be written to at ${folder}, found none (ENOTDIR): ${remedy}\n`;

    test("for --serve", { timeout }, async () => {
      const folder = nowhere();
      vi.stubEnv("SORTIE_LOCAL_RUN", join(folder, "run.json"));
      onTestFinished(() => void vi.unstubAllEnvs());
      const { code, err } = await npmStart("--serve").done;
      const remedy = "set SORTIE_LOCAL_RUN to a file in another folder";
      expect([code, err]).toEqual([1, words("--serve", folder, remedy)]);
    });

    test("for --keep, before anything is built", { timeout }, async () => {
      const folder = nowhere();
      const { code, err } = await npmStart("--serve", "--keep", folder).done;
      expect([code, err]).toEqual([1, words(`--keep ${folder}`, folder, "name another folder")]);
    });
  });

  test("an agent that is not there", { timeout }, async () => {
    const { code, err } = await npmStart("--agent", "nowhere.ts").done;
    expect(code).toBe(1);
    expect(err).toMatch(/settings need a change:\n {2}- agent: .+nowhere\.ts/);
    expect(err).not.toMatch(/^\s+at /m);
  });
});
