/** docs/agent-failures.md: every way an episode can end with an agent, made from the real ways at real servers. */
import { BedrockAgentCoreClient } from "@aws-sdk/client-bedrock-agentcore";
import { LambdaClient } from "@aws-sdk/client-lambda";
import { expect, test } from "vitest";
import { agentCoreAgent } from "../../functions/adapters/agent-agentcore/client.ts";
import { httpAgent } from "../../functions/adapters/agent-http/client.ts";
import { lambdaAgent } from "../../functions/adapters/agent-lambda/client.ts";
import { FreshDispatcher, neverSent } from "../../functions/adapters/engine/index.ts";
import type { Agent } from "../../functions/contract/agent.ts";
import { ModelError } from "../../functions/core/errors.ts";
import { usesUpAnAttempt } from "../../functions/core/reasons.ts";
import { runAgent } from "../../functions/core/rollout/agent.ts";
import type { AgentRunner } from "../../functions/core/rollout/agent-runner.ts";
import { decodeMessage } from "../../functions/core/rollout/message.ts";
import { agentsHere } from "../../functions/core/rollout/perform-agent.ts";
import { type AgentCaller, remoteAgents } from "../../functions/core/rollout/remote-agents.ts";
import { startRuntimeApi } from "../../local/agentcore/runtime-api.ts";
import { deadUrl } from "../support/engine-that.ts";
import { FakeClock } from "../support/fake-clock.ts";
import { type Respond, sendJson, sendText, serve } from "../support/http-server.ts";

/** What a service answers; `nobody`: there is none. */
type Service = Respond | "nobody";
interface FailureClass {
  readonly what: string;
  readonly module?: Agent;
  readonly http?: Service;
  /** Lambda's own API. */
  readonly lambda?: Service;
  /** Behind the local front door of AgentCore's API. */
  readonly agentcore?: Service;
  /** The deadline comes while the agent runs. */
  readonly late?: boolean;
}

const says =
  (body: unknown, status = 200): Respond =>
  (_, response) =>
    sendJson(response, status, body);
const text =
  (status: number, words: string): Respond =>
  (_, response) =>
    sendText(response, status, words);
const breaks: Respond = ({ socket }) => socket.destroy();
const silent: Respond = () => undefined;
/** As Lambda tells of a function that failed. */
const functionError =
  (errorType: string, errorMessage: string): Respond =>
  (_, response) =>
    response
      .writeHead(200, { "content-type": "application/json", "x-amz-function-error": "Unhandled" })
      .end(JSON.stringify({ errorType, errorMessage }));
const awsError =
  (status: number, type: string): Respond =>
  (_, response) =>
    response
      .writeHead(status, { "content-type": "application/json", "x-amzn-errortype": type })
      .end(JSON.stringify({ message: `it is ${type}` }));
/** The same from every agent elsewhere that answers at all. */
const all = (service: Service) => ({ http: service, lambda: service, agentcore: service });
const thrown = (name: string, message: string): Agent => {
  return () => Promise.reject(Object.assign(new Error(message), { name }));
};

const classes: readonly FailureClass[] = [
  { what: "a reward", module: async () => ({ reward: 1 }), ...all(says({ rewards: [0, 1] })) },
  {
    what: "the episode is given back",
    module: thrown("AgentDiscard", "sandbox full"),
    ...all(says({ status_code: 409, stop_reason: "sandbox full" })),
  },
  {
    what: "the agent failed",
    module: thrown("TypeError", "no such tool"),
    http: says({ error: "KeyError: 'tool'" }, 500),
    lambda: functionError("KeyError", "'tool'"),
    agentcore: says({ error: "KeyError: 'tool'" }, 500),
  },
  {
    what: "the agent's process died",
    http: breaks,
    lambda: functionError(
      "Runtime.ExitError",
      "RequestId: 1 Error: Runtime exited with error: exit status 1",
    ),
    agentcore: breaks,
  },
  {
    what: "the agent refused the request",
    http: says({ error: "expected task.metadata.answer" }, 400),
    lambda: awsError(413, "RequestTooLargeException"),
    agentcore: says({ error: "expected task.metadata.answer" }, 400),
  },
  {
    what: "the model failed",
    module: () => Promise.reject(new ModelError("no choices")),
    ...all(says({ status_code: 424, error: "no choices", model_status: 400 })),
  },
  {
    what: "a model call did not reach the model",
    ...all(says({ status_code: 424, error: "refused", model_status: 0 })),
  },
  {
    what: "an answer that is not the contract's",
    module: async () => "42" as never,
    ...all(says({ answer: 42 })),
  },
  {
    what: "a reward that is no number",
    module: async () => ({ reward: Number.NaN }),
    ...all(says({ reward: "1" })),
  },
  { what: "nobody is there", ...all("nobody") },
  {
    what: "a proxy answers for an agent that is away",
    http: text(502, "Bad Gateway"),
    lambda: awsError(502, "EC2UnexpectedException"),
    agentcore: text(502, "Bad Gateway"),
  },
  {
    what: "access is denied",
    http: says({ message: "no" }, 403),
    lambda: awsError(403, "AccessDeniedException"),
  },
  {
    what: "too busy, for a minute",
    http: says({}, 429),
    lambda: awsError(429, "TooManyRequestsException"),
    agentcore: says({}, 429),
  },
  { what: "the connection broke", lambda: breaks },
  {
    what: "the agent's own time was up",
    lambda: functionError("Sandbox.Timedout", "RequestId: 1 Error: Task timed out after 3.00 seconds"),
  },
  {
    what: "the deadline",
    late: true,
    module: () => new Promise<never>(() => undefined),
    ...all(silent),
  },
];

const credentials = { accessKeyId: "a", secretAccessKey: "s" };
const region = "eu-west-1";
const callers = {
  http: (url: string) => httpAgent({ urls: [url], dispatcher: new FreshDispatcher(), neverSent }),
  lambda: (endpoint: string) =>
    lambdaAgent({
      client: new LambdaClient({ endpoint, region, credentials, maxAttempts: 1 }),
      functionName: "my-agent",
    }),
  agentcore: (endpoint: string) =>
    agentCoreAgent({
      client: new BedrockAgentCoreClient({ endpoint, region, credentials, maxAttempts: 1 }),
      runtimeArn: "arn:aws:bedrock-agentcore:eu-west-1:111122223333:runtime/my_agent-AbCdEf1234",
    }),
} satisfies Record<string, (url: string) => AgentCaller>;
type Elsewhere = keyof typeof callers;

interface End {
  readonly reason: string;
  readonly detail: string;
}

async function endOf(agents: AgentRunner, late: boolean): Promise<End> {
  const controller = new AbortController();
  const run = {
    rollout: decodeMessage(JSON.stringify({ task_id: "t", main_query: "2+2?" }), "m"),
    attempt: { id: "invocation-1.1", episode: "e", global_step: 1 },
    grant: { openai_base_url: "http://127.0.0.1:1/v1", openai_api_key: "sk-ajet-key" },
    deadline: 601_000,
    allowUnusualRewards: false,
    alone: false,
    log: () => undefined,
  };
  // This clock comes to the deadline at once: for those that are to meet it.
  const end = late
    ? await runAgent({ clock: new FakeClock(1000), agents }, { ...run, controller })
    : await agents.start({ ...run, signal: controller.signal }).outcome;
  return end.kind === "output" ? { reason: "ended", detail: `reward ${end.output.reward}` } : end;
}

async function elsewhere(way: Elsewhere, service: Service, late: boolean): Promise<End> {
  await using server = await serve(service === "nobody" ? silent : service);
  const url = service === "nobody" ? await deadUrl() : server.url;
  const api = way === "agentcore" ? await startRuntimeApi(url) : undefined;
  try {
    const clock = new FakeClock(1000);
    const end = await endOf(remoteAgents(callers[way](api?.endpoint ?? url), clock), late);
    return { ...end, detail: end.detail.replaceAll(url, "http://agent") };
  } finally {
    await api?.close();
  }
}

const noModel = () => ({
  chat: () => Promise.reject(new Error("no model")),
  calls: () => 0,
  lastCallAt: () => undefined,
});

type Row = readonly string[];

async function rowsOf({ what, module, late = false, ...given }: FailureClass): Promise<Row[]> {
  const rows: Row[] = [];
  if (module) rows.push(row(what, "module", await endOf(agentsHere(module, noModel), late)));
  for (const way of Object.keys(callers) as Elsewhere[]) {
    const service = given[way];
    if (service !== undefined) rows.push(row(what, way, await elsewhere(way, service, late)));
  }
  return rows;
}

function row(what: string, way: string, { reason, detail }: End): Row {
  const cost = reason === "ended" ? "" : usesUpAnAttempt(reason as never) ? "yes" : "no";
  const words = detail
    .replace(/127\.0\.0\.1:\d+/g, "agent")
    .replaceAll("|", "\\|")
    .slice(0, 160);
  return [what, way, `\`${reason}\``, cost, words.trim()];
}

/** As the formatter would write it. */
function tableOf(rows: readonly Row[]): string {
  const widths = head.map((_, at) => Math.max(...[head, ...rows].map((cells) => cells[at]?.length ?? 0)));
  const line = (cells: Row) => `| ${cells.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(" | ")} |`;
  return [head, widths.map((width) => "-".repeat(width)), ...rows].map(line).join("\n");
}

const head = ["what happens", "way", "reason", "uses up an attempt", "the dead letter's words"];

const introduction = `# How an episode ends, by the way its agent runs

One row for each class of failure and way, made by \`test/docs/agent-failures.test.ts\` from the ways as they are deployed,
at real servers. No failure is ever a reward. What uses up no attempt is bounded elsewhere: \`agent-discarded\` by the
setting \`maxDiscards\`, \`agent-lost\` by its third time; the circuit stops a fleet whose agent is away.
`;

test("docs/agent-failures.md shows how each failure ends, by way", async () => {
  const rows: Row[] = [];
  for (const one of classes) rows.push(...(await rowsOf(one)));
  await expect(`${introduction}\n${tableOf(rows)}\n`).toMatchFileSnapshot("../../docs/agent-failures.md");
});
