/** The functions as they are deployed, the rollout function with an agent of the tests, in processes that a test can kill. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SQSBatchResponse } from "aws-lambda";
import { afterAll, beforeAll, onTestFinished } from "vitest";
import { lifecycleVariables, rolloutVariables as names } from "../../functions/contract/environment-names.ts";
import type { QueueRecord } from "../../functions/core/queue.ts";
import { entries } from "../../functions/entries.ts";
import { bundle } from "../../local/bundle.ts";
import { LambdaFunction } from "../../local/lambda/function.ts";
import type { InvocationResult } from "../../local/lambda/invocation.ts";
import type { FleetFixture } from "./fleet-fixture.ts";

const agentOfTests = join(import.meta.dirname, "agent-as-told.ts");

export interface FunctionProcess {
  /** One invocation with an SQS event of these records. */
  invoke(records: readonly QueueRecord[]): Promise<InvocationResult>;
  /** Ends the process that works now, as a failing host would. */
  kill(): void;
}

/** Call once at the top of a test file; the function that it returns starts the function for a house. */
export function functionProcesses(): (
  house: FleetFixture,
  options?: { timeoutSeconds?: number; environment?: Record<string, string> },
) => FunctionProcess {
  let codeDirectory = "";
  beforeAll(async () => {
    codeDirectory = await mkdtemp(join(tmpdir(), "sortie-function-"));
    await bundle(entries.rollout, join(codeDirectory, "index.mjs"), { agent: agentOfTests });
  }, 30_000);
  afterAll(() => rm(codeDirectory, { recursive: true }));
  return (house, { timeoutSeconds = 60, environment = {} } = {}) => {
    const lambda = new LambdaFunction({
      name: house.fleet,
      handler: "index.handler",
      codeDirectory,
      memoryMb: 512,
      timeoutMs: timeoutSeconds * 1000,
      environment: { ...environmentOf(house), ...environment },
      log: ({ line }) => house.log.push({ message: line, facts: {} }),
    });
    onTestFinished(() => lambda.stop());
    return {
      invoke: (records) => lambda.invoke({ Records: records.map(eventRecord) }),
      kill: () => {
        for (const { pid, state } of lambda.processes()) if (state === "busy") lambda.kill(pid);
      },
    };
  };
}

/** Call once at the top of a test file; the function that it returns resolves to what one tick answers. */
export function lifecycleProcesses(): (
  house: FleetFixture,
  environment: Record<string, string>,
) => { tick(): Promise<InvocationResult> } {
  let codeDirectory = "";
  beforeAll(async () => {
    codeDirectory = await mkdtemp(join(tmpdir(), "sortie-lifecycle-"));
    await bundle(entries.lifecycle, join(codeDirectory, "index.mjs"), { agent: agentOfTests });
  }, 30_000);
  afterAll(() => rm(codeDirectory, { recursive: true }));
  return (house, environment) => {
    const lambda = new LambdaFunction({
      name: `lifecycle-${house.fleet}`,
      handler: "index.handler",
      codeDirectory,
      memoryMb: 512,
      timeoutMs: 60_000,
      environment: {
        ...house.estate.servers.environment,
        [lifecycleVariables.engine]: house.limits.engine,
        [lifecycleVariables.engineUrl]: house.engine.url,
        [lifecycleVariables.table]: house.estate.table,
        [lifecycleVariables.fleets]: "[]",
        [lifecycleVariables.snapshotTtlDays]: "1",
        [lifecycleVariables.rolloutTtlDays]: "1",
        [lifecycleVariables.sweepIntervalSeconds]: "0",
        ...environment,
      },
      log: ({ line }) => house.log.push({ message: line, facts: {} }),
    });
    onTestFinished(() => lambda.stop());
    return { tick: () => lambda.invoke({}) };
  };
}

function environmentOf({ limits, estate, engine, ...house }: FleetFixture): Record<string, string> {
  return {
    ...estate.servers.environment,
    [names.fleet]: limits.fleet,
    [names.engine]: limits.engine,
    [names.engineUrl]: engine.url,
    [names.table]: estate.table,
    [names.queueUrl]: house.queueUrl,
    [names.deadLetterQueueUrl]: house.deadLetterQueueUrl,
    [names.maxAttempts]: String(limits.maxAttempts),
    [names.discardTimeoutSeconds]: String(limits.discardTimeoutSeconds),
    [names.claimWaitSeconds]: String(limits.claimWaitSeconds),
    [names.minEpisodeSeconds]: String(limits.minEpisodeSeconds),
    [names.settleMarginSeconds]: String(limits.settleMarginSeconds),
    [names.allowUnusualRewards]: String(limits.allowUnusualRewards),
    [names.rolloutTtlDays]: "1",
    [names.heartbeatSeconds]: String(limits.heartbeatSeconds),
  };
}

function eventRecord(record: QueueRecord): object {
  return {
    messageId: record.messageId,
    receiptHandle: record.receipt,
    body: record.body,
    attributes: {
      ApproximateReceiveCount: String(record.receiveCount),
      SentTimestamp: String(record.sentAt),
    },
    messageAttributes: {},
    eventSource: "aws:sqs",
  };
}

/** Of an invocation that answered. */
export function answerOf(result: InvocationResult): SQSBatchResponse {
  if (result.status === "success") return result.payload as SQSBatchResponse;
  throw new Error(`expected an answer, found ${result.error.type}: ${result.error.message}`);
}
