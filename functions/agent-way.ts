/** What a way to run agents is made from. Each fleet's bundle has one way in it, by the name `#agent-way`. */
import type { EngineCredentials } from "./adapters/engine/index.ts";
import { SettingsError } from "./contract/settings-error.ts";
import type { Clock } from "./core/clock.ts";
import type { Log } from "./core/log.ts";
import type { AgentRunner } from "./core/rollout/agent-runner.ts";
import type { RolloutEnvironment } from "./environment.ts";

export interface AgentWayParts {
  readonly environment: RolloutEnvironment;
  /** Of the proxy before the engine. */
  readonly credentials: EngineCredentials | undefined;
  /** The file that this function was started from. */
  readonly entry: string;
  readonly clock: Clock;
  /** Of that clock against the machine's, ms. */
  readonly offsetMs: () => number;
  readonly log: Log;
}
export type CreateAgents = (parts: AgentWayParts) => Promise<AgentRunner>;

type Agent = NonNullable<RolloutEnvironment["agent"]>;

/** @throws SettingsError where the bundle has another way in it than the environment names */
export function agentOf<Kind extends Agent["kind"]>(
  { agent }: RolloutEnvironment,
  kind: Kind,
): Agent & { kind: Kind } {
  if (agent?.kind === kind) return agent as Agent & { kind: Kind };
  throw new SettingsError(
    [`SORTIE_AGENT: expected an agent of the kind ${kind}, found ${agent?.kind ?? "none"}: deploy again`],
    "the environment of this function is wrong",
  );
}
