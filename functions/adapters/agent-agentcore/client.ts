/** Agents in a runtime of Amazon Bedrock AgentCore: a session of its own for each attempt, stopped when that is over. */
import {
  type BedrockAgentCoreClient,
  InvokeAgentRuntimeCommand,
  StopRuntimeSessionCommand,
} from "@aws-sdk/client-bedrock-agentcore";
import { describeError } from "../../core/errors.ts";
import type { AgentReply } from "../../core/rollout/agent-answer.ts";
import { AgentCallError, type AgentCaller } from "../../core/rollout/remote-agents.ts";

export interface AgentCoreOptions {
  /** Sends each request once, and lets a socket be silent for as long as an episode may last. */
  readonly client: Pick<BedrockAgentCoreClient, "send">;
  readonly runtimeArn: string;
  /** An endpoint of the runtime; its default one where it is left out. */
  readonly qualifier?: string | undefined;
}

const busy: ReadonlySet<string> = new Set([
  "ThrottlingException",
  "ServiceQuotaExceededException",
  "RetryableConflictException",
]);
const STOP_MS = 5000;

export function agentCoreAgent({ client, runtimeArn, qualifier }: AgentCoreOptions): AgentCaller {
  const target = { agentRuntimeArn: runtimeArn, ...(qualifier === undefined ? {} : { qualifier }) };
  return {
    call: async ({ body, session, signal }) => {
      const command = new InvokeAgentRuntimeCommand({
        ...target,
        runtimeSessionId: session,
        contentType: "application/json",
        accept: "application/json",
        payload: new TextEncoder().encode(JSON.stringify(body)),
      });
      try {
        const result = await client.send(command, { abortSignal: signal });
        const text = (await result.response?.transformToString("utf-8")) ?? "";
        return { status: result.statusCode ?? 200, contentType: mediaType(result.contentType), text };
      } catch (error) {
        if (signal.aborted) throw error;
        return replyBehind(error);
      }
    },
    // Until then it is billed, also where its answer has come.
    over: async (session) => {
      const command = new StopRuntimeSessionCommand({ ...target, runtimeSessionId: session });
      await client.send(command, { abortSignal: AbortSignal.timeout(STOP_MS) }).catch((error: unknown) => {
        if (!(error instanceof Error && error.name === "ResourceNotFoundException")) throw error;
      });
    },
  };
}

/** What the agent answered, where the service tells of it as an error of its own; else throws what the error means. */
function replyBehind(error: unknown): AgentReply {
  const name = error instanceof Error ? error.name : "";
  const words = describeError(error, 300);
  if (name === "RuntimeClientError") {
    const status = Number(/\((\d{3})\)/.exec(words)?.[1] ?? 500);
    if (status === 429) throw new AgentCallError("busy", words, undefined, error);
    return { status, contentType: "application/json", text: JSON.stringify({ error: words }) };
  }
  if (busy.has(name)) throw new AgentCallError("busy", words, undefined, error);
  if (name === "ValidationException") throw new AgentCallError("refused", words, undefined, error);
  const answered = (error as { $metadata?: { httpStatusCode?: number } } | null)?.$metadata?.httpStatusCode;
  const { code } = error as { code?: string };
  const unreachable = answered !== undefined || code === "ECONNREFUSED" || code === "ENOTFOUND";
  throw new AgentCallError(unreachable ? "unreachable" : "lost", words, undefined, error);
}

function mediaType(header: string | undefined): string {
  return (header?.split(";")[0] ?? "").trim().toLowerCase();
}
