/**
 * `--agent`: a name or a file that is compiled in, the address of a service, or a Python file that is served here.
 * `--runtime`: the latter two, behind AgentCore's API.
 */
import { existsSync } from "node:fs";
import { isAddress, startService } from "../agent/service.ts";
import { startRuntimeApi } from "../agentcore/runtime-api.ts";
import { InputError } from "../input-error.ts";
import type { JobOptions } from "./options.ts";

export interface StartedAgent {
  /** For the settings. */
  readonly agent: JobOptions["agent"];
  /** For the functions: where AWS's API is that runs it. */
  readonly endpoints: NonNullable<JobOptions["endpoints"]>;
  close(): Promise<void>;
}
type Show = (line: string) => void;

/** @throws InputError where one cannot be started, in words for its author */
export async function startAgent(
  { agent, runtime, python }: Pick<JobOptions, "agent" | "runtime" | "python">,
  show: Show,
): Promise<StartedAgent> {
  const own = await serviceOf("--agent", agent, python, show);
  try {
    const behind = await runtimeOf(runtime, python, show);
    return {
      agent: own === undefined ? agent : { http: { url: own.url } },
      endpoints: behind.endpoints,
      close: async () => {
        await behind.close();
        await own?.close();
      },
    };
  } catch (error) {
    await own?.close();
    throw error;
  }
}

/** Undefined where it is no service. */
async function serviceOf(option: string, agent: JobOptions["agent"], python: string, show: Show) {
  if (typeof agent !== "string") return undefined;
  if (!isAddress(agent) && agent.endsWith(".py") && !existsSync(agent))
    throw new InputError(`${option} ${agent}: expected a file, found none`);
  return await startService(agent, { python, show });
}

async function runtimeOf(
  runtime: string | undefined,
  python: string,
  show: Show,
): Promise<Pick<StartedAgent, "endpoints" | "close">> {
  if (runtime === undefined) return { endpoints: {}, close: async () => undefined };
  const service = await serviceOf("--runtime", runtime, python, show);
  if (service === undefined)
    throw new InputError(
      `--runtime ${runtime}: expected a .py file or the address of a service that speaks AgentCore's contract`,
    );
  const api = await startRuntimeApi(service.url);
  return {
    endpoints: { AWS_ENDPOINT_URL_BEDROCK_AGENTCORE: api.endpoint },
    close: async () => {
      await api.close();
      await service.close();
    },
  };
}
