import { describe, expect, test } from "vitest";
import calculator from "../../../agents/calculator.ts";
import math from "../../../agents/math.ts";
import { boxedAnswer } from "../../../agents/support/answers.ts";
import { calculatorTool } from "../../../agents/support/calculator-tool.ts";
import type { Agent, AgentOutput, ChatMessage, Task } from "../../../functions/contract/agent.ts";
import { createModel, type Model, skill } from "../../../local/engine/model.ts";
import { generateProblems } from "../../../local/problems/problems.ts";
import { makeTask, says, scripted } from "../../agents/episode.ts";

const tasks = generateProblems({ seed: 1, count: 200 });
const model = createModel({ tasks, seed: 1 });

function ask(text: string, episodeUuid = "episode-1", globalStep = 1): string {
  return (
    model({ messages: [{ role: "user", content: text }] }, { globalStep, episodeUuid }).message.content ?? ""
  );
}

/** Runs a real agent on every task, each in an episode of its own. */
function runAll(
  agent: Agent,
  asked: Model,
  globalStep: number,
  on: readonly Task[] = tasks,
): Promise<AgentOutput[]> {
  const run = (task: Task, at: number) => {
    const chat: Parameters<Agent>[1]["chat"] = async (request) =>
      asked(request, { globalStep, episodeUuid: `episode-${globalStep}-${at}` }).message;
    return agent(task, { ...scripted([]), chat });
  };
  return Promise.all(on.map(run));
}

function mean(outputs: readonly AgentOutput[]): number {
  return outputs.reduce((sum, { reward }) => sum + Number(reward), 0) / outputs.length;
}

describe("skill", () => {
  test("is 0.25 at the first step, 0.9 at the tenth and stays below 0.97", () => {
    expect(skill(1, 2)).toBeCloseTo(0.25, 5);
    expect(skill(10, 2)).toBeCloseTo(0.894, 3);
    expect(skill(1000, 2)).toBeCloseTo(0.97, 5);
    expect(skill(0, 2)).toBe(skill(1, 2));
  });

  test("is less for harder problems", () => {
    expect([1, 2, 3].map((difficulty) => skill(3, difficulty).toFixed(2))).toEqual(["0.64", "0.53", "0.39"]);
  });
});

describe.each([
  ["math", math],
  ["calculator", calculator],
] as const)("under the %s agent", (_, agent) => {
  test("the reward rises from step to step", async () => {
    const curve = [];
    for (const step of [1, 3, 6, 12]) curve.push(mean(await runAll(agent, model, step)));
    const [first = 1, , , last = 0] = curve;
    expect(curve).toEqual(curve.toSorted((a, b) => a - b));
    expect(first).toBeLessThan(0.35);
    expect(last).toBeGreaterThan(0.8);
  });

  test("most repeats of a task have different rewards at first", async () => {
    const repeats = await Promise.all(
      [0, 1, 2, 3].map((at) => runAll(agent, createModel({ tasks, seed: at }), 2)),
    );
    const mixed = tasks.filter(
      (_task, at) => new Set(repeats.map((outputs) => outputs[at]?.reward)).size === 2,
    );
    expect(mixed.length / tasks.length).toBeGreaterThan(0.6);
  });

  test("some replies have no box at first, and hardly any later", async () => {
    const unboxed = (outputs: AgentOutput[]) =>
      outputs.filter(({ metadata: { answer } = {} }) => answer === null).length;
    const [early, late] = [unboxed(await runAll(agent, model, 1)), unboxed(await runAll(agent, model, 40))];
    expect(early).toBeGreaterThan(10);
    expect(late).toBeLessThan(early / 4);
  });
});

describe("the model", () => {
  test("answers the same in the same context, in whichever process", () => {
    const request = { messages: [says("hi"), { role: "user", content: tasks[3]?.main_query ?? "" }] };
    const context = { globalStep: 2, episodeUuid: "e" };
    expect(createModel({ tasks, seed: 1 })(request, context)).toEqual(model(request, context));
  });

  test("answers differently in other episodes, at other steps and for other seeds", () => {
    const question = tasks[0]?.main_query ?? "";
    const among = (answers: string[]) => new Set(answers).size;
    const range = Array.from({ length: 30 }, (_, at) => at);
    const request = { messages: [{ role: "user", content: question }] };
    const context = { globalStep: 1, episodeUuid: "e" };
    expect(among(range.map((at) => ask(question, `episode-${at}`)))).toBeGreaterThan(5);
    expect(among(range.map((at) => ask(question, "e", 1 + at / 1000)))).toBeGreaterThan(5);
    expect(
      among(range.map((seed) => createModel({ tasks, seed })(request, context).message.content ?? "")),
    ).toBeGreaterThan(5);
  });

  test("finds the question in the midst of other text", () => {
    const question = tasks[5]?.main_query ?? "";
    const answers = (text: string) => Array.from({ length: 40 }, (_, at) => ask(text, `episode-${at}`, 50));
    expect(answers(`Please solve this.\n${question}\nThink first.`)).toEqual(answers(question));
  });

  test("finds a question that only the task's own messages ask", async () => {
    const asked = makeTask({
      main_query: "",
      init_messages: [{ role: "user", content: "What is six by seven?" }],
      metadata: { answer: "#### 42" },
    });
    const knowing = createModel({ tasks: [asked], seed: 1 });
    expect(mean(await runAll(math, knowing, 50, Array<Task>(50).fill(asked)))).toBeGreaterThan(0.85);
  });

  test("takes the longer of two questions where one is part of the other", () => {
    const [short, long] = [
      makeTask({ main_query: "What is 1 + 1", metadata: { answer: "#### 2" } }),
      makeTask({ main_query: "What is 1 + 1 + 1", metadata: { answer: "#### 3" } }),
    ];
    const both = createModel({ tasks: [short, long], seed: 1 });
    const content = "So: What is 1 + 1 + 1 then?";
    const replies = Array.from({ length: 60 }, (_, at) => {
      const context = { globalStep: 50, episodeUuid: `e${at}` };
      return boxedAnswer(both({ messages: [{ role: "user", content }] }, context).message.content ?? "");
    });
    expect(replies.filter((answer) => answer?.includes("3")).length).toBeGreaterThan(45);
  });

  test("guesses a number where it does not know the question", () => {
    const answers = Array.from({ length: 50 }, (_, at) => boxedAnswer(ask("Who am I?", `episode-${at}`)));
    expect(answers.filter((answer) => answer !== undefined && /\d/.test(answer)).length).toBeGreaterThan(30);
  });

  test("knows nothing of messages that are not the user's", () => {
    const question = tasks[0]?.main_query ?? "";
    const { message } = model(
      { messages: [{ role: "system", content: question }] },
      { globalStep: 50, episodeUuid: "e" },
    );
    const { expression } = tasks[0]?.metadata ?? {};
    expect(message.content).not.toContain(String(expression));
  });

  test("counts its tokens", () => {
    const { usage } = model({ messages: [says("x".repeat(400))] }, { globalStep: 1, episodeUuid: "e" });
    expect(usage.prompt_tokens).toBeGreaterThanOrEqual(100);
    expect(usage.completion_tokens).toBeGreaterThan(5);
    expect(usage.total_tokens).toBe(usage.prompt_tokens + usage.completion_tokens);
  });
});

test("with a tool that runs Python it writes programs, some of them under another name", () => {
  const tools = [{ type: "function", function: { name: "python" } }];
  const calls = tasks.map(({ main_query }, at) => {
    const request = { messages: [{ role: "user" as const, content: main_query }], tools };
    return model(request, { globalStep: 1, episodeUuid: `e${at}` }).message.tool_calls?.[0]?.function;
  });
  const programs = calls.filter((call) => call?.name === "python" && call.arguments.endsWith('"}'));
  expect(programs.length).toBeGreaterThan(140);
  for (const call of programs) expect(JSON.parse(call?.arguments ?? "").code).toMatch(/^print\(.+\)$/);
  expect(calls.some((call) => call?.name === "run_code")).toBe(true);
});

describe("with the calculator offered", () => {
  const firstCalls = (globalStep: number) =>
    tasks.map(({ main_query }, at) => {
      const messages: ChatMessage[] = [{ role: "user", content: main_query }];
      const request = { messages, tools: [calculatorTool] };
      return model(request, { globalStep, episodeUuid: `e${at}` }).message.tool_calls?.[0]?.function;
    });

  test("it calls it first, every time", () => {
    expect(firstCalls(5).every((call) => call !== undefined)).toBe(true);
  });

  test("some first calls are truncated or name another tool, most are good", () => {
    const kinds = firstCalls(1).map((call) => {
      if (call?.name !== "calculator") return "unknown-tool";
      return call.arguments.endsWith("}") ? "good" : "truncated";
    });
    const count = (kind: string) => kinds.filter((one) => one === kind).length;
    expect(count("good")).toBeGreaterThan(140);
    expect(count("truncated")).toBeGreaterThan(3);
    expect(count("unknown-tool")).toBeGreaterThan(3);
  });

  test("after a failed call it calls again, rightly, and then answers", async () => {
    const outputs = await runAll(calculator, model, 1);
    const seen = outputs.map(({ log_metrics: { tool_errors, turns } = {} }) => `${tool_errors},${turns}`);
    expect(new Set(seen)).toEqual(new Set(["0,2", "1,3"]));
  });

  test("another tool is left alone", () => {
    const messages = [{ role: "user", content: tasks[0]?.main_query ?? "" }];
    const tools = [{ type: "function", function: { name: "search" } }];
    const { message } = model({ messages, tools }, { globalStep: 1, episodeUuid: "e" });
    expect(message.tool_calls).toBeUndefined();
    expect(message.content).toContain("Let me work it out");
  });
});
