/**
 * One file for two: the rollout function, and the host of its agents, which is the same file started with an argument
 * of its own. Each loads only what it needs.
 */
import type { Context, SQSBatchResponse, SQSEvent } from "aws-lambda";
import { hostedHere } from "./adapters/agents/index.ts";

type Handler = (event: SQSEvent, context: Context) => Promise<SQSBatchResponse>;

const hosted = hostedHere();
if (hosted !== undefined) await (await import("./agent-host.ts")).hostAgents(hosted);

export const handler: Handler | undefined =
  hosted === undefined ? (await import("./rollout.ts")).handler : undefined;
