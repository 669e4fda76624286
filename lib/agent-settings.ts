/** Which agent a fleet runs, and where: compiled in, behind an address, in a Lambda function, in an AgentCore runtime. */
import { existsSync, readdirSync, statSync } from "node:fs";
import { parse, resolve } from "node:path";
import * as z from "zod";
import { agentsFolder, shippedAgentEntry } from "../functions/entries.ts";
import { arnOf, matching, whole } from "./schema-parts.ts";
import { tokenFaults, tokenShape } from "./token-settings.ts";

const expected =
  "expected an agent's name, the path of its file, or an object with one of module, http, lambda, agentcore";
const address = z
  .url({ protocol: /^https?$/, error: "expected a URL such as https://agents.example.com" })
  .refine((url) => !URL.canParse(url) || new URL(url).username === "", {
    error: "expected a URL without a user name or password, which everybody could read in the template",
  });
const file = z.string({ error: "expected an agent's name or the path of its file" }).min(1, {
  error: "expected an agent's name or the path of its file",
});

const http = z.strictObject(
  {
    /** Where the service answers `POST /invocations`; several share the episodes. */
    url: z.union([address, z.array(address).min(1)], {
      error: "expected a URL such as https://agents.example.com, or a list of them",
    }),
    ...tokenShape("agent-token"),
  },
  { error: "expected {url}" },
);

const lambda = z.strictObject(
  {
    /** A function that there is. */
    arn: arnOf("lambda", /function:[\w-]+(?::[\w$-]+)?/, "function:my-agent").optional(),
    /** A folder with all that the function needs, of which the stack makes one. */
    folder: z.string().min(1).optional(),
    runtime: matching(/^[a-z0-9.]+$/, "expected Lambda's name of a runtime, such as python3.13").optional(),
    handler: z.string().min(1).optional(),
    /** A container image in ECR, of which the stack makes one. */
    imageUri: matching(
      /^\d{12}\.dkr\.ecr\.[a-z0-9-]+\.amazonaws\.com(?:\.cn)?\/[\w./-]+(?::[\w.-]+|@sha256:[0-9a-f]{64})$/,
      "expected an image in ECR with a tag or digest",
    ).optional(),
    memoryMb: whole(128, 10_240, "Lambda's limits").optional(),
    timeoutSeconds: whole(1, 900, "Lambda's limit").optional(),
  },
  { error: "expected {arn}, {folder, handler} or {imageUri}" },
);

const agentcore = z.strictObject(
  {
    arn: arnOf("bedrock-agentcore", /runtime\/[\w-]+/, "runtime/my_agent-AbCdEf1234"),
    /** An endpoint of the runtime. */
    qualifier: matching(/^\w{1,48}$/, "expected an endpoint's name").optional(),
  },
  { error: "expected {arn}" },
);

const ways = { module: file, http, lambda, agentcore } as const;
const elsewhere = z
  .strictObject(
    {
      module: file.optional(),
      http: http.optional(),
      lambda: lambda.optional(),
      agentcore: agentcore.optional(),
    },
    { error: expected },
  )
  .refine((way) => Object.keys(way).length === 1, { error: expected });

/** Text names a shipped agent or a file. Two schemas, not a union: the faults of an object stay its own. */
export const agentSetting = z.custom<string | z.infer<typeof elsewhere>>().superRefine((value, context) => {
  const schema = typeof value === "string" ? file : elsewhere;
  const issues = schema.safeParse(value).error?.issues ?? [];
  // That there is no way, or more than one, says nothing more where its name is wrong.
  const telling = issues.filter(({ code }) => code !== "custom" || issues.length === 1);
  for (const issue of telling) context.addIssue({ ...issue, path: issue.path } as never);
});
export type AgentSetting = z.infer<typeof agentSetting>;
export type HttpAgent = z.infer<typeof http>;
export type LambdaAgent = z.infer<typeof lambda>;
export type AgentCoreAgent = z.infer<typeof agentcore>;

export type AgentWay =
  | { readonly kind: "module"; readonly entry: string }
  | ({ readonly kind: "http" } & HttpAgent)
  | ({ readonly kind: "lambda" } & LambdaAgent)
  | ({ readonly kind: "agentcore" } & AgentCoreAgent);

export const agentKeys = Object.keys(ways);

/** The one way that a setting names. */
export function agentWay(agent: AgentSetting): AgentWay {
  if (typeof agent === "string") return { kind: "module", entry: agentEntry(agent) };
  if (agent.http) return { kind: "http", ...agent.http };
  if (agent.lambda) return { kind: "lambda", ...agent.lambda };
  if (agent.agentcore) return { kind: "agentcore", ...agent.agentcore };
  return { kind: "module", entry: agentEntry(agent.module ?? "") };
}

/** The file of an agent that is compiled in: a shipped one's, or a path from the current directory. */
export function agentEntry(agent: string): string {
  return isName(agent) ? shippedAgentEntry(agent) : resolve(agent);
}

function isName(agent: string): boolean {
  return /^[\w-]+$/.test(agent);
}

interface Fleet {
  readonly agent: AgentSetting;
  readonly timeoutSeconds: number;
  readonly settleMarginSeconds: number;
}

/** One text per fault, without the fleet's name: what is wrong and what to change. */
export function agentFaults(fleet: Fleet): string[] {
  const { agent } = fleet;
  if (typeof agent === "string") return moduleFaults("agent", agent);
  if (agent.module !== undefined) return moduleFaults("agent.module", agent.module);
  if (agent.http) return tokenFaults(agent.http).map((fault) => `agent.http.${fault}`);
  return agent.lambda ? lambdaFaults(agent.lambda, fleet) : [];
}

function moduleFaults(where: string, agent: string): string[] {
  const found = JSON.stringify(agent);
  if (agent.endsWith(".py"))
    return [
      `${where}: expected a name or the path of a .ts or .js file, found ${found}: a Python agent runs as a service ` +
        '({"http": {"url": …}}) or as a Lambda function ({"lambda": {"folder": …, "handler": …}}), see docs/agents.md',
    ];
  if (!isName(agent) && !/\.[cm]?[jt]s$/.test(agent))
    return [`${where}: expected a name or the path of a .ts or .js file, found ${found}`];
  if (existsSync(agentEntry(agent))) return [];
  if (!isName(agent))
    return [`${where}: expected a file at ${agentEntry(agent)}, found none: correct the path`];
  const shipped = readdirSync(agentsFolder).filter((name) => name.endsWith(".ts"));
  const names = shipped.map((name) => parse(name).name).join(", ");
  return [
    `${where}: expected a shipped agent (${names}) or the path of a file such as ./agents/mine.ts, found ${found}`,
  ];
}

function lambdaFaults(agent: LambdaAgent, { timeoutSeconds, settleMarginSeconds }: Fleet): string[] {
  const where = "agent.lambda";
  const given = [agent.arn, agent.folder, agent.imageUri].filter((one) => one !== undefined);
  if (given.length !== 1)
    return [`${where}: expected one of arn, folder and imageUri, found ${given.length}`];
  const faults: string[] = [];
  const own = {
    runtime: agent.runtime,
    handler: agent.handler,
    memoryMb: agent.memoryMb,
    timeoutSeconds: agent.timeoutSeconds,
  };
  const surplus = Object.entries(own).filter(([name, value]) => value !== undefined && !fits(agent, name));
  faults.push(
    ...surplus.map(
      ([name]) =>
        `${where}.${name}: this is decided elsewhere, where the function or its image is made: remove it`,
    ),
  );
  if (agent.folder !== undefined) faults.push(...folderFaults(where, agent, agent.folder));
  const most = timeoutSeconds - settleMarginSeconds;
  if (agent.timeoutSeconds !== undefined && agent.timeoutSeconds < most)
    faults.push(
      `${where}.timeoutSeconds: expected at least timeoutSeconds - settleMarginSeconds (${most}), since an episode may last so long, ` +
        `found ${agent.timeoutSeconds}: raise it, or lower the fleet's timeoutSeconds`,
    );
  return faults;
}

/** A function that there is has all of them; an image has its runtime and handler in it. */
function fits(agent: LambdaAgent, name: string): boolean {
  if (agent.arn !== undefined) return false;
  return agent.folder !== undefined || name === "memoryMb" || name === "timeoutSeconds";
}

function folderFaults(where: string, { handler }: LambdaAgent, folder: string): string[] {
  const path = resolve(folder);
  const there = existsSync(path) && statSync(path).isDirectory();
  return [
    ...(there ? [] : [`${where}.folder: expected a folder at ${path}, found none: correct the path`]),
    ...(handler === undefined
      ? [`${where}.handler: expected the function in the folder, such as my_agent.handler, found nothing`]
      : []),
  ];
}
