/** `--fleets math=0.4,code=0.6*5`: several datasets at once, each with its share of the engine's batch. */
import { existsSync } from "node:fs";
import { InvalidArgumentError } from "commander";
import { fleetNameOf, parseClientUuid } from "../../functions/core/client-uuid.ts";
import type { Task } from "../../functions/core/protocol.ts";
import { shippedAgentEntry } from "../../functions/entries.ts";
import type { EngineModel } from "../engine/config.ts";
import { createKnowledge } from "../engine/knowledge.ts";
import type { Ledger } from "../engine/ledger.ts";

/** Undefined: nobody asked for one. */
export type AgentChoice = string | { readonly http: { readonly url: string } } | undefined;

export interface FleetShare {
  readonly name: string;
  /** Part of the batch's tasks, above 0 and at most 1. */
  readonly ratio: number;
  /** How many times longer its model calls take. */
  readonly slowness: number;
}

/** Throws `InvalidArgumentError`. */
export function parseFleets(text: string): FleetShare[] {
  const shares = text.split(",").map(parseShare);
  if (new Set(shares.map(({ name }) => name)).size < shares.length)
    throw new InvalidArgumentError("expected different names.");
  return shares;
}

function parseShare(text: string): FleetShare {
  const match = /^([a-z0-9-]{1,32})=(\d*\.?\d+)(?:\*(\d*\.?\d+))?$/.exec(text.trim());
  const [, name = "", ratio = "0", slowness = "1"] = match ?? [];
  const share = { name, ratio: Number(ratio), slowness: Number(slowness) };
  if (!match || share.ratio <= 0 || share.ratio > 1 || share.slowness <= 0)
    throw new InvalidArgumentError(
      `expected name=share or name=share*slowness, such as math=0.4 or code=0.6*5, found "${text}".`,
    );
  return share;
}

/** Each fleet with the agent that was asked for, else the one of its name, where one ships; and a throttle for its share. */
export function fleetSettings(
  shares: readonly FleetShare[],
  options: { agent: AgentChoice; batchTasks: number; repeats: number },
): Record<string, unknown> {
  const entries = shares.map(({ name, ratio }) => [
    name,
    {
      ...agentOf(name, options.agent),
      throttle: { ratio, batchSize: options.batchTasks, repeats: options.repeats },
    },
  ]);
  return Object.fromEntries(entries);
}

function agentOf(fleet: string, agent: AgentChoice): { agent?: AgentChoice } {
  if (agent !== undefined) return { agent };
  return existsSync(shippedAgentEntry(fleet)) ? { agent: fleet } : {};
}

/** Splits the tasks in the proportion of the shares, so that all queues run dry at about the same time. */
export function splitTasks(tasks: readonly Task[], shares: readonly FleetShare[]): Map<string, Task[]> {
  const split = new Map<string, Task[]>(shares.map(({ name }) => [name, []]));
  for (const task of tasks) {
    const [neediest] = [...shares].sort((a, b) => fill(split, a) - fill(split, b));
    if (neediest) split.get(neediest.name)?.push(task);
  }
  return split;
}

function fill(split: ReadonlyMap<string, Task[]>, { name, ratio }: FleetShare): number {
  return ((split.get(name)?.length ?? 0) + 0.5) / ratio;
}

/** The model, slower for the tasks of slow fleets. */
export function paced(
  model: EngineModel,
  split: ReadonlyMap<string, Task[]>,
  shares: readonly FleetShare[],
  seconds: (random: () => number) => number,
): EngineModel {
  const find = createKnowledge([...split.values()].flat());
  const slowness = new Map(
    shares.flatMap(({ name, slowness }) =>
      (split.get(name) ?? []).map((task) => [task.main_query, slowness] as const),
    ),
  );
  return async (request, context) => ({
    ...(await model(request, context)),
    seconds: seconds(context.random) * (slowness.get(find(request.messages).text) ?? 1),
  });
}

/** How many different tasks of each fleet reached the trainer, by the engine's step. */
export function mixByStep(ledger: Ledger): Record<string, Record<string, number>> {
  const tasks = new Map<string, Map<string, Set<string>>>();
  for (const entry of ledger.entries) {
    if (entry.kind !== "output") continue;
    const fleet = fleetNameOf(parseClientUuid(entry.clientUuid)?.fleetId ?? "");
    const step = tasks.get(String(entry.globalStep)) ?? new Map<string, Set<string>>();
    const seen = step.get(fleet) ?? new Set<string>();
    step.set(fleet, seen.add(entry.taskId));
    tasks.set(String(entry.globalStep), step);
  }
  return Object.fromEntries(
    [...tasks].map(([step, fleets]) => [
      step,
      Object.fromEntries([...fleets].map(([fleet, seen]) => [fleet, seen.size])),
    ]),
  );
}
