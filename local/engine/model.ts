/**
 * The model behind the stand-in's `/chat/completions`. It answers what it is asked in the messages; whether rightly is
 * drawn from its skill, which grows with the engine's `global_step`, so that the rewards of a run rise as in training.
 */
import type { ChatMessage, ChatRequest, ToolCall } from "../../functions/contract/agent.ts";
import type { Random } from "../../functions/core/clock.ts";
import type { Task } from "../../functions/core/protocol.ts";
import { createRandom, hash, integer, pick } from "../random.ts";
import { createKnowledge, type Known } from "./knowledge.ts";

export interface ModelContext {
  readonly globalStep: number;
  /** Repeats of a task differ, because each has an episode of its own. */
  readonly episodeUuid: string;
}
export interface Usage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
}
/** Pure: the same request in the same context gets the same answer, in every process. */
export type Model = (request: ChatRequest, context: ModelContext) => { message: ChatMessage; usage: Usage };

const START = 0.25;
const CEILING = 0.97;
/** Steps after which the distance to the ceiling has shrunk to 1/e. */
const PACE = 4;
const exponents: Readonly<Record<number, number>> = { 1: 0.7, 2: 1, 3: 1.5 };
/** How often the unskilled model forgets `\boxed{}`, and how often it gets a tool call wrong. */
const SLIP = 0.2;

/** The probability of a right answer: 0.25 at step 1, 0.9 at step 10, towards 0.97; more for 1, less for 3. */
export function skill(globalStep: number, difficulty: number): number {
  const trained = Math.max(0, globalStep - 1);
  const base = CEILING - (CEILING - START) * Math.exp(-trained / PACE);
  return base ** (exponents[difficulty] ?? 1);
}

/** A model that knows the answers of `tasks`; what it does not find there it guesses. */
export function createModel({ tasks, seed }: { tasks: readonly Task[]; seed: number }): Model {
  const find = createKnowledge(tasks);
  return (request, { globalStep, episodeUuid }) => {
    const question = find(request.messages);
    const random = createRandom("model", seed, globalStep, episodeUuid, question.text);
    const plan = draw(random, question.known, globalStep);
    const message = nextMessage(request, plan);
    return { message, usage: usageOf(request, message) };
  };
}

/** What the model will do in this episode, the same at each of its turns. */
interface Plan {
  readonly answer: string;
  readonly expression: string;
  readonly boxed: boolean;
  /** What its first tool call looks like. */
  readonly firstCall: "good" | "truncated" | "unknown-tool";
}

function draw(random: Random, known: Known | undefined, globalStep: number): Plan {
  const able = skill(globalStep, known?.difficulty ?? 3);
  const right = random() < able;
  const boxed = random() >= SLIP * (1 - able);
  const slips = random() < SLIP * (1 - able) + 0.02;
  const firstCall = slips ? pick(random, ["truncated", "unknown-tool"] as const) : "good";
  const error = integer(random, 1, 12);
  const written = pick(random, spellings);
  if (known === undefined) {
    const guess = integer(random, 2, 999);
    return { answer: written(String(guess)), expression: `${guess} + 0`, boxed, firstCall };
  }
  if (right) return { answer: written(known.answer), expression: known.expression, boxed, firstCall };
  return {
    answer: wrongAnswer(known.answer, error),
    expression: `${known.expression} + ${error}`,
    boxed,
    firstCall,
  };
}

const plain = (answer: string) => answer;
/** The ways in which models write one number: an agent must read them all. */
const spellings: readonly ((answer: string) => string)[] = [
  plain,
  plain,
  plain,
  (answer) => answer.replace(/^\d+$/, (digits) => Number(digits).toLocaleString("en-US")),
  (answer) => `${answer}.`,
  (answer) => `\\text{${answer}}`,
];

function wrongAnswer(answer: string, error: number): string {
  const value = Number(answer.replaceAll(",", ""));
  return Number.isFinite(value) ? String(value + error) : `not ${answer}`;
}

function nextMessage(request: ChatRequest, plan: Plan): ChatMessage {
  const turn = request.messages.filter((message) => message.role === "tool").length;
  const calls = plan.firstCall === "good" ? 1 : 2;
  const tool = toolAmong(request.tools);
  if (tool !== undefined && turn < calls)
    return { role: "assistant", content: null, tool_calls: [toolCall(tool, plan, turn)] };
  const answer = plan.boxed ? `The answer is \\boxed{${plan.answer}}.` : `So it must be ${plan.answer}`;
  return { role: "assistant", content: `Let me work it out: ${plan.expression}. ${answer}` };
}

/** The tools that it knows how to use. */
const known = {
  calculator: { misnamed: "calculate", arguments: (expression: string) => ({ expression }) },
  python: { misnamed: "run_code", arguments: (expression: string) => ({ code: `print(${expression})` }) },
} as const;
type Tool = keyof typeof known;

function toolCall(tool: Tool, plan: Plan, turn: number): ToolCall {
  const written = JSON.stringify(known[tool].arguments(plan.expression));
  const shape = turn === 0 ? plan.firstCall : "good";
  return {
    id: `call_${hash(written).toString(36)}_${turn}`,
    type: "function",
    function: {
      name: shape === "unknown-tool" ? known[tool].misnamed : tool,
      arguments: shape === "truncated" ? written.slice(0, -4) : written,
    },
  };
}

function toolAmong(tools: readonly unknown[] | undefined): Tool | undefined {
  const offered = tools?.map((tool) => JSON.stringify(tool) ?? "") ?? [];
  return (Object.keys(known) as Tool[]).find((name) =>
    offered.some((tool) => tool.includes(`"name":"${name}"`)),
  );
}

/** Four characters a token, as English text has about. */
function usageOf(request: ChatRequest, message: ChatMessage): Usage {
  const [prompt_tokens, completion_tokens] = [tokens(request.messages), tokens([message])];
  return { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens };
}

/** Of a prompt. */
export function tokens(messages: readonly ChatMessage[]): number {
  const length = messages.reduce(
    (sum, { content, tool_calls }) => sum + JSON.stringify([content, tool_calls]).length,
    0,
  );
  return Math.ceil(length / 4);
}
