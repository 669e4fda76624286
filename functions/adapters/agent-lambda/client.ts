/** Agents that are Lambda functions of the user's: one invocation per episode, with the contract's body as its event. */
import { InvokeCommand, type LambdaClient } from "@aws-sdk/client-lambda";
import * as z from "zod";
import { describeError } from "../../core/errors.ts";
import type { AgentReply } from "../../core/rollout/agent-answer.ts";
import { AgentCallError, type AgentCaller } from "../../core/rollout/remote-agents.ts";

export interface LambdaAgentOptions {
  /** Sends each request once, whatever comes of it, and lets a socket be silent for as long as a function may run. */
  readonly client: Pick<LambdaClient, "send">;
  /** Name or ARN. */
  readonly functionName: string;
}

/** Lambda's own words for an invocation that did not come to the function's answer. */
const failureSchema = z.object({
  errorType: z.string().default(""),
  errorMessage: z.string().default(""),
  stackTrace: z.array(z.unknown()).default([]),
});

/** They say that nothing was run, and that it may be later. */
const busy: ReadonlySet<string> = new Set([
  "TooManyRequestsException",
  "EC2ThrottledException",
  "ResourceConflictException",
  "ResourceNotReadyException",
  "SnapStartNotReadyException",
  "ENILimitReachedException",
]);
/** The event is the fault. */
const refused: ReadonlySet<string> = new Set([
  "InvalidRequestContentException",
  "RequestTooLargeException",
  "UnsupportedMediaTypeException",
]);

export function lambdaAgent({ client, functionName }: LambdaAgentOptions): AgentCaller {
  return {
    call: async ({ body, signal }) => {
      const command = new InvokeCommand({ FunctionName: functionName, Payload: JSON.stringify(body) });
      const result = await client.send(command, { abortSignal: signal }).catch((error: unknown) => {
        throw signal.aborted ? error : failureOf(error);
      });
      const text = Buffer.from(result.Payload ?? new Uint8Array()).toString("utf8");
      return result.FunctionError === undefined
        ? { status: 200, contentType: "application/json", text }
        : functionFailure(text);
    },
  };
}

/** What a function that threw, died or ran out of time leaves behind. */
function functionFailure(text: string): AgentReply {
  const { errorType, errorMessage, stackTrace } = failureSchema.parse(parsed(text));
  const words = [errorType, errorMessage].filter((part) => part !== "").join(": ");
  if (errorType === "Sandbox.Timedout" || /Task timed out after/.test(errorMessage))
    throw new AgentCallError("deadline", `the agent's own function ran out of time: ${words}`);
  const body = { error: words, traceback: stackTrace.map(String).join("") };
  return { status: 500, contentType: "application/json", text: JSON.stringify(body) };
}

function failureOf(error: unknown): AgentCallError {
  const name = error instanceof Error ? error.name : "";
  const words = describeError(error, 300);
  if (busy.has(name)) return new AgentCallError("busy", words, retryAfterMs(error), error);
  if (refused.has(name)) return new AgentCallError("refused", words, undefined, error);
  // An answer of the service, or no connection: it has not been run, or not by a function that there is.
  if (hasAnswer(error) || isUnconnected(error))
    return new AgentCallError("unreachable", words, undefined, error);
  return new AgentCallError("lost", words, undefined, error);
}

function hasAnswer(error: unknown): boolean {
  const metadata = (error as { $metadata?: { httpStatusCode?: number } } | null)?.$metadata;
  return metadata?.httpStatusCode !== undefined;
}

const unconnected: ReadonlySet<string> = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
]);

function isUnconnected(error: unknown): boolean {
  const { code, name } = error as { code?: string; name?: string };
  return unconnected.has(code ?? "") || name === "CredentialsProviderError";
}

function retryAfterMs(error: unknown): number | undefined {
  const { retryAfterSeconds } = error as { retryAfterSeconds?: string | number };
  const seconds = Number(retryAfterSeconds);
  return Number.isFinite(seconds) && retryAfterSeconds !== undefined
    ? Math.min(seconds, 600) * 1000
    : undefined;
}

function parsed(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : { errorMessage: String(value) };
  } catch {
    return { errorMessage: text.slice(0, 300) };
  }
}
