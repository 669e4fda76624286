/** Agents of the settings that exist in an account alone, and what stands for them here. */
import type { JobOptions } from "./options.ts";
import type { Written } from "./settings.ts";

/** In words for the author of the settings, one for each agent that cannot run here; none where all can. */
export function elsewhereFaults(
  settings: Written,
  { runtime, agent }: Pick<JobOptions, "runtime" | "agent">,
): string[] {
  const agents = agentsIn(settings);
  const faults = agents.flatMap(([where, setting]) => faultOf(where, setting, runtime));
  const isAsked = agents.some(([, { agentcore }]) => agentcore !== undefined);
  if (runtime !== undefined && !isAsked)
    faults.push(
      `--runtime ${runtime}: this stands for a runtime of AgentCore, and ${agent === undefined ? "no fleet of the settings has one" : "--agent names another agent"}`,
    );
  return faults;
}

type WrittenAgent = Readonly<Record<string, unknown>>;

/** With where each stands: the one of all fleets, and fleets' own. */
function agentsIn(settings: Written): (readonly [string, WrittenAgent])[] {
  const fleets = isRecord(settings["fleets"]) ? Object.entries(settings["fleets"]) : [];
  const places = [
    ["agent", settings["agent"]] as const,
    ...fleets.map(([name, fleet]) => [`fleets.${name}.agent`, isRecord(fleet) && fleet["agent"]] as const),
  ];
  return places.flatMap(([where, agent]) => (isRecord(agent) ? [[where, agent] as const] : []));
}

function faultOf(where: string, { agentcore, lambda }: WrittenAgent, runtime: string | undefined): string[] {
  if (agentcore !== undefined && runtime === undefined)
    return [
      `${where}.agentcore: the runtime is in your account: name what stands for it here by --runtime, a .py file or the address of its service, such as http://127.0.0.1:8080`,
    ];
  if (!isRecord(lambda)) return [];
  const [own] = ["arn", "imageUri"].filter((key) => lambda[key] !== undefined);
  if (own === undefined) return [];
  return [
    `${where}.lambda.${own}: the function is in your account: run its code here by {"lambda": {"folder": …, "handler": …}} in a file for --settings, or as a service by --agent`,
  ];
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
