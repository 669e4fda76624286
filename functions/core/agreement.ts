/**
 * The two collection methods under which an engine syncs weights when its clients agree to it. A client is in its list
 * from an end that declared it active until the engine leaves its rolling states, or ten minutes without activity. Each
 * attempt is a client of its own, so one of a fleet's attempts at a time stands for the fleet. Pure.
 */
import { isClientOf } from "./client-uuid.ts";
import type { PoolInformation } from "./protocol.ts";

/** Agree once any of these is reached in the step. Episodes and tasks are those that the trainer has counted. */
export interface AgreeRule {
  readonly episodes?: number | undefined;
  readonly tasks?: number | undefined;
  /** Seconds since the step began to roll. */
  readonly seconds?: number | undefined;
}

export function asksForAgreement(method: string): boolean {
  return /^rollout_until_(any_client|all_clients)_agree_sync_weight$/.test(method);
}

/**
 * Whether none of the fleet's attempts is in the engine's list: the next end then brings one in. Until a training's first
 * report the pool names no method; a client too many does no harm then, and none at all could hold the sync up.
 */
export function lacksRepresentative(pool: PoolInformation, fleetId: string): boolean {
  const { sample_collection_method: method, swarm_client_instruction: instruction } = pool;
  const mayAsk = method === "" ? instruction != null : asksForAgreement(method);
  return mayAsk && clientsOf(pool, [fleetId]).length === 0;
}

/** The fleets' clients in the list that have not agreed yet. */
export function undecidedClients(pool: PoolInformation, fleetIds: readonly string[]): string[] {
  return clientsOf(pool, fleetIds).flatMap(({ client_uuid, allowed_sync_weight }) =>
    allowed_sync_weight === true ? [] : [client_uuid],
  );
}

/**
 * Why it is time to agree; undefined before. `rolledFor`: milliseconds that this step has been seen to roll.
 */
export function reasonToAgree(pool: PoolInformation, rule: AgreeRule, rolledFor: number): string | undefined {
  const { completed_episodes: episodes, completed_tasks: tasks } = pool;
  if (rule.episodes !== undefined && episodes >= rule.episodes) return `${episodes} episodes`;
  if (rule.tasks !== undefined && tasks >= rule.tasks) return `${tasks} tasks`;
  if (rule.seconds !== undefined && rolledFor >= rule.seconds * 1000)
    return `${Math.floor(rolledFor / 1000)} s`;
  return undefined;
}

function clientsOf({ swarm_client_instruction: instruction }: PoolInformation, fleetIds: readonly string[]) {
  return (instruction?.active_clients ?? []).filter(({ client_uuid }) =>
    fleetIds.some((fleetId) => isClientOf(fleetId, client_uuid)),
  );
}
