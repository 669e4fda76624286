/** Lambda's Invoke API here, by the SDK, and agents in Lambda functions behind it. */
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { InvokeCommand, LambdaClient } from "@aws-sdk/client-lambda";
import { describe, expect, onTestFinished, test } from "vitest";
import { lambdaAgent } from "../../../functions/adapters/agent-lambda/client.ts";
import { decodeMessage } from "../../../functions/core/rollout/message.ts";
import { remoteAgents } from "../../../functions/core/rollout/remote-agents.ts";
import { packageRoot } from "../../../functions/entries.ts";
import { systemClock as clock } from "../../../functions/system-clock.ts";
import { LambdaFunction, type LambdaFunctionOptions } from "../../../local/lambda/function.ts";
import { startInvokeApi } from "../../../local/lambda/invoke-api.ts";
import { lambdaPython } from "../../../local/lambda/python.ts";

const nodeHandlers = `
  export const echo = async (event) => ({ event });
  export const throws = async () => { throw new TypeError("no such tool"); };
  export const dies = async () => process.exit(1);
  export const waits = () => new Promise(() => setInterval(() => {}, 1000));
`;
const pythonHandlers = `
import os
import sortie_agent

def rollout(task, episode):
    if task.main_query == "throw":
        raise KeyError("reference")
    if task.main_query == "die":
        os._exit(7)
    if task.main_query == "discard":
        raise sortie_agent.Discard("no sandbox")
    return {"rewards": [0, 0.5], "metadata": {"attempt": episode.attempt}}

handler = sortie_agent.lambda_handler(rollout)
`;

async function offered(options: Partial<LambdaFunctionOptions>) {
  const codeDirectory = mkdtempSync(join(tmpdir(), "sortie-invoke-"));
  writeFileSync(join(codeDirectory, "index.mjs"), nodeHandlers);
  writeFileSync(join(codeDirectory, "agent.py"), pythonHandlers);
  copyFileSync(join(packageRoot, "agents/python/sortie_agent.py"), join(codeDirectory, "sortie_agent.py"));
  const base = { name: "my-agent", handler: "index.echo", memoryMb: 256, timeoutMs: 30_000, environment: {} };
  const lambda = new LambdaFunction({ ...base, codeDirectory, log: () => undefined, ...options });
  const api = await startInvokeApi();
  api.offer([lambda]);
  onTestFinished(async () => {
    await lambda.stop();
    await api.close();
    rmSync(codeDirectory, { recursive: true });
  });
  const credentials = { accessKeyId: "a", secretAccessKey: "s" };
  return new LambdaClient({ endpoint: api.endpoint, region: "eu-west-1", credentials, maxAttempts: 1 });
}

function work(main_query: string) {
  const log = () => undefined;
  return {
    rollout: decodeMessage(JSON.stringify({ task_id: "t", main_query }), "m"),
    attempt: { id: "invocation-1.1", episode: "e", global_step: 1 },
    grant: { openai_base_url: "http://127.0.0.1:1/v1", openai_api_key: "sk-ajet-key" },
    signal: new AbortController().signal,
    deadline: Date.now() + 60_000,
    allowUnusualRewards: false,
    alone: false,
    log,
  };
}

describe("Lambda's Invoke API", { timeout: 60_000 }, () => {
  test.each(["my-agent", "arn:aws:lambda:eu-west-1:111122223333:function:my-agent"])(
    "invokes a function by %s",
    async (FunctionName) => {
      const client = await offered({});
      const { Payload, FunctionError } = await client.send(
        new InvokeCommand({ FunctionName, Payload: '{"a":1}' }),
      );
      expect([FunctionError, JSON.parse(Buffer.from(Payload ?? []).toString())]).toEqual([
        undefined,
        { event: { a: 1 } },
      ]);
    },
  );

  test("has no function of another name", async () => {
    const client = await offered({});
    const command = new InvokeCommand({ FunctionName: "other", Payload: "{}" });
    await expect(client.send(command)).rejects.toMatchObject({ name: "ResourceNotFoundException" });
  });

  test("throttles beyond the reserved concurrency", async () => {
    const client = await offered({ reservedConcurrency: 0 });
    const command = new InvokeCommand({ FunctionName: "my-agent", Payload: "{}" });
    await expect(client.send(command)).rejects.toMatchObject({ name: "TooManyRequestsException" });
  });

  test.each([
    ["index.throws", {}, "agent-error", /^TypeError: no such tool$/],
    ["index.dies", {}, "agent-error", /^Runtime\.ExitError: .*exit status 1$/],
    ["index.waits", { timeoutMs: 1000 }, "deadline", /Task timed out after 1\.00 seconds$/],
    ["index.echo", {}, "invalid-output", /found the keys \["event"\]$/],
  ] as const)(
    "an agent (%s, %j) that comes to no reward has its reason",
    async (handler, options, reason, detail) => {
      const client = await offered({ handler, ...options });
      const agents = remoteAgents(lambdaAgent({ client, functionName: "my-agent" }), clock);
      expect(await agents.start(work("")).outcome).toEqual({
        kind: "failed",
        reason,
        detail: expect.stringMatching(detail),
      });
    },
  );
});

test("an agent in Python is run by AWS's own runtime client", { timeout: 180_000 }, async () => {
  const python = await lambdaPython("python3");
  const client = await offered({ runtime: "python3.13", handler: "agent.handler", python });
  const agents = remoteAgents(lambdaAgent({ client, functionName: "my-agent" }), clock);
  const outcome = (query: string) => agents.start(work(query)).outcome;
  expect(await outcome("")).toMatchObject({
    kind: "output",
    output: { reward: 0.5, metadata: { attempt: "invocation-1.1" } },
  });
  const failed = (reason: string, detail: RegExp) => ({
    kind: "failed",
    reason,
    detail: expect.stringMatching(detail),
  });
  expect(await outcome("throw")).toEqual(failed("agent-error", /^KeyError: 'reference'$/));
  expect(await outcome("discard")).toEqual(failed("agent-discarded", /^no sandbox$/));
  expect(await outcome("die")).toEqual(failed("agent-error", /^Runtime\.ExitError: .*exit status 7$/));
});
