/** What a fleet's function gets so that it can run an agent that is not compiled into it, and nothing more. */
import { PolicyStatement } from "aws-cdk-lib/aws-iam";
import type { Construct } from "constructs";
import type { AgentVariable } from "../functions/contract/environment-names.ts";
import { AGENT_SPECIFIER, AGENT_WAY_SPECIFIER, agentWays } from "../functions/entries.ts";
import { AgentFunction, type AgentFunctionProps } from "./agent-function.ts";
import type { AgentCoreAgent, AgentWay, HttpAgent, LambdaAgent } from "./agent-settings.ts";

const DEFAULT_HEADER = "x-sortie-token";

export interface AgentAccess {
  readonly variable: AgentVariable | undefined;
  readonly statements: readonly PolicyStatement[];
  /** Where the stack made one. */
  readonly function?: AgentFunction;
}

/** The modules that a rollout function's bundle has for its agent. */
export function agentModules(way: AgentWay): Record<string, string> {
  const modules = { [AGENT_WAY_SPECIFIER]: agentWays[way.kind] };
  return way.kind === "module" ? { ...modules, [AGENT_SPECIFIER]: way.entry } : modules;
}

export function agentAccess(
  scope: Construct,
  way: AgentWay,
  fleet: Omit<AgentFunctionProps, "agent">,
): AgentAccess {
  if (way.kind === "http") return httpAccess(way);
  if (way.kind === "lambda") return lambdaAccess(scope, way, fleet);
  if (way.kind === "agentcore") return agentCoreAccess(way);
  return { variable: undefined, statements: [] };
}

function httpAccess({ url, tokenSecretArn, tokenSecretKeyArn, header }: HttpAgent): AgentAccess {
  const token =
    tokenSecretArn === undefined ? {} : { secretArn: tokenSecretArn, header: header ?? DEFAULT_HEADER };
  return {
    variable: { kind: "http", urls: [url].flat(), ...token },
    statements: [
      ...(tokenSecretArn === undefined ? [] : [allow(["secretsmanager:GetSecretValue"], [tokenSecretArn])]),
      ...(tokenSecretKeyArn === undefined ? [] : [allow(["kms:Decrypt"], [tokenSecretKeyArn])]),
    ],
  };
}

function lambdaAccess(
  scope: Construct,
  agent: LambdaAgent,
  fleet: Omit<AgentFunctionProps, "agent">,
): AgentAccess {
  if (agent.arn !== undefined)
    return {
      variable: { kind: "lambda", functionName: agent.arn },
      statements: [allow(["lambda:InvokeFunction"], [agent.arn])],
    };
  const made = new AgentFunction(scope, "Agent", { ...fleet, agent });
  const { functionArn, functionName } = made.function;
  return {
    variable: { kind: "lambda", functionName },
    statements: [allow(["lambda:InvokeFunction"], [functionArn])],
    function: made,
  };
}

function agentCoreAccess({ arn, qualifier }: AgentCoreAgent): AgentAccess {
  const endpoint = `${arn}/runtime-endpoint/${qualifier ?? "DEFAULT"}`;
  return {
    variable: { kind: "agentcore", arn, ...(qualifier === undefined ? {} : { qualifier }) },
    statements: [
      allow(
        ["bedrock-agentcore:InvokeAgentRuntime", "bedrock-agentcore:StopRuntimeSession"],
        [arn, endpoint],
      ),
    ],
  };
}

function allow(actions: string[], resources: string[]): PolicyStatement {
  return new PolicyStatement({ actions, resources });
}
