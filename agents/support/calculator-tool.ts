/** The calculator as an OpenAI tool. Whatever the model calls gets an answer: its mistakes are its to learn from. */
import type { ChatMessage, ToolCall } from "../agent.ts";
import { ArithmeticError, evaluate } from "./arithmetic.ts";
import { toDecimal } from "./rational.ts";

export const calculatorTool = {
  type: "function",
  function: {
    name: "calculator",
    description: "Computes an arithmetic expression of numbers, + - * / and parentheses.",
    parameters: {
      type: "object",
      properties: { expression: { type: "string", description: "for example (12 + 3.5) * 4" } },
      required: ["expression"],
    },
  },
} as const;

/** A call and its result, as two messages of the history have them. */
export interface AnsweredCall {
  readonly call: ToolCall;
  readonly result: ChatMessage;
  readonly failed: boolean;
}

/** Answers every tool call of a reply, whatever shape the model gave it; empty when the reply calls no tool. */
export function answerToolCalls(reply: ChatMessage): AnsweredCall[] {
  const calls: unknown = reply.tool_calls;
  return Array.isArray(calls) ? calls.map(answerToolCall) : [];
}

function answerToolCall(given: unknown, index: number): AnsweredCall {
  const { id, function: called } = asRecord(given);
  const { name, arguments: written } = asRecord(called);
  const call: ToolCall = {
    id: typeof id === "string" && id !== "" ? id : `call_${index}`,
    type: "function",
    // Servers parse the arguments of the history to render it, and fail on bad JSON: it goes back as an empty object.
    function: {
      name: typeof name === "string" ? name : "unknown",
      arguments: JSON.stringify(parseArguments(written) ?? {}),
    },
  };
  const outcome = runCalculator(name, written);
  const content = "value" in outcome ? outcome.value : `Error: ${outcome.fault}`;
  return { call, result: { role: "tool", tool_call_id: call.id, content }, failed: "fault" in outcome };
}

function runCalculator(name: unknown, written: unknown): { value: string } | { fault: string } {
  const known = calculatorTool.function.name;
  if (name !== known) return { fault: `expected the tool "${known}", found ${quote(name)}` };
  const { expression } = parseArguments(written) ?? {};
  if (typeof expression !== "string") {
    return { fault: `expected arguments {"expression": "<text>"}, found ${quote(written)}` };
  }
  try {
    return { value: toDecimal(evaluate(expression)) };
  } catch (error) {
    if (error instanceof ArithmeticError) return { fault: error.message };
    throw error;
  }
}

/** Some servers send the arguments as an object already. Undefined for what is no object. */
function parseArguments(written: unknown): Record<string, unknown> | undefined {
  if (typeof written !== "string") return isRecord(written) ? written : undefined;
  try {
    const parsed: unknown = JSON.parse(written);
    return isRecord(parsed) ? parsed : undefined;
  } catch {
    return undefined;
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function asRecord(value: unknown): Record<string, unknown> {
  return isRecord(value) ? value : {};
}

function quote(value: unknown): string {
  return (JSON.stringify(value) ?? "nothing").slice(0, 100).toWellFormed();
}
