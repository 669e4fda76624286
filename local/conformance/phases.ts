/** What is done to the system, one phase after the other. */
import { randomUUID } from "node:crypto";
import { sendAll } from "../../cli/push/producer.ts";
import { setDesired } from "../../functions/adapters/table/engine-state.ts";
import { createLifecycleReader } from "../../functions/adapters/table/lifecycle.ts";
import type { Engine } from "../../functions/core/engine.ts";
import type { ChangedRollout } from "../../functions/core/housekeeping/totals.ts";
import type { EpisodeType, Task } from "../../functions/core/protocol.ts";
import { type Envelope, encodeMessage, envelopes } from "../../functions/core/rollout/envelope.ts";
import { runKey } from "../../functions/core/rollout/message.ts";
import { Killer } from "../chaos/killer.ts";
import { Accounting } from "../job/accounting.ts";
import type { LocalFleet } from "../job/deployment.ts";
import { createRandom } from "../random.ts";
import type { System } from "../system.ts";
import type { Phase } from "./rows.ts";

const LOOK_MS = 500;

/** How long something may take without any progress, ms: a boot or a sync of a real engine takes minutes. */
export const patience = { fast: 75_000, slow: 1_200_000 };

export interface Bench {
  readonly system: System;
  readonly engine: Engine;
  readonly tasksFor: (name: string, count: number) => Task[];
  /** With which all ids of such tasks begin. */
  readonly prefixOf: (name: string) => string;
  readonly repeats: number;
  /** Without progress for so long, a phase is given up, ms. */
  readonly patienceMs: number;
  /** Fires when the time for all of it is over. */
  readonly over: AbortSignal;
  readonly note: (text: string) => void;
}

export interface Job {
  readonly name: string;
  readonly fleet: LocalFleet;
  readonly tasks: number;
  readonly repeats?: number;
  readonly episodeType?: EpisodeType;
  readonly isRough?: boolean;
  /** What happens meanwhile, once the first rollouts run; it may end before them. */
  readonly meanwhile?: (isDone: () => boolean) => Promise<void>;
}

/** Pushes the rollouts of a phase and waits until all are final, or the time is over. */
export async function runPhase(bench: Bench, job: Job): Promise<Phase> {
  const { system, over, note } = bench;
  const { name, fleet, tasks, repeats = bench.repeats, episodeType = "train", isRough = false } = job;
  const run = `conformance-${randomUUID().slice(0, 8)}`;
  const messages = [...envelopes(bench.tasksFor(name, tasks), { run, repeats, episodeType })];
  note(`${name}: ${messages.length} rollouts`);
  const refused = await sendAll(
    { client: system.sqs, queueUrl: fleet.queueUrl },
    messages.map(encodeMessage),
  );
  if (refused.length > 0) throw new Error(`the queue refused ${refused.length}: ${refused[0]?.reason}`);
  const store = createLifecycleReader({ client: system.dynamodb, table: fleet.table });
  const accounting = new Accounting(store, [fleet.name], run);
  let [final, moved] = [0, Date.now()];
  const meanwhile = job.meanwhile?.(() => final >= messages.length);
  while (!over.aborted && Date.now() - moved < bench.patienceMs) {
    const account = await accounting.read(Date.now());
    const now = account.ended + account.dead + account.unknown + account.lost;
    if (now > final) moved = Date.now();
    final = now;
    if (final >= messages.length) break;
    await pause(LOOK_MS);
  }
  await meanwhile;
  await accounting.readAll(Date.now());
  const rollouts = accounting.all();
  for (const words of notFinal(keysOf(messages), rollouts)) note(words);
  return { name, pushed: messages.length, rollouts, isRough };
}

function keysOf(messages: readonly Envelope[]): string[] {
  return messages.map(({ task, run, repeat, episode_type: episodeType = "train" }) =>
    runKey(task, { run, repeat, episodeType }),
  );
}

/** A line for each rollout that is not final: what is known of it. */
function notFinal(keys: readonly string[], rollouts: readonly ChangedRollout[]): string[] {
  const found = new Map(rollouts.map((rollout) => [rollout.key, rollout]));
  return keys.flatMap((key) => {
    const { state = "not in the table", history = [] } = found.get(key) ?? {};
    if (["ended", "unknown", "lost", "dead"].includes(state)) return [];
    return [`${key} is ${state}; so far: ${history.map(({ reason }) => reason).join(", ") || "nothing"}`];
  });
}

/** Kills the processes of busy rollout functions, `count` of them, each some seconds after the last. */
export async function killFunctions(
  { system, over }: Bench,
  { count, everyMs }: { count: number; everyMs: number },
  isDone: () => boolean,
): Promise<number> {
  const rollouts = [...system.wiring.functions]
    .filter(([, { environment }]) => environment["SORTIE_FLEET"] !== undefined)
    .flatMap(([id]) => system.functions.get(id) ?? []);
  const killer = new Killer({ rollouts, lifecycles: [] });
  const random = createRandom("conformance-kills");
  while (killer.kills.length < count && !isDone() && !over.aborted) {
    await pause(everyMs);
    killer.killRandom(random, "kill-random");
  }
  return killer.kills.length;
}

/** Resolves to whether the engine rolls again, in a training that is not the one before. */
export async function restartEngine(
  bench: Bench,
  fleet: LocalFleet,
  config: string | undefined,
): Promise<boolean> {
  const { engine, system, note } = bench;
  if (config === undefined) {
    note("the engine is stopped and started by its own calls");
    await engine.stop();
    if (!(await reaches(bench, (status) => status === "ENGINE.OFFLINE"))) return false;
    if (!(await engine.start()).success) return false;
  } else {
    note("Sortie is asked to restart the engine");
    const wish = { state: "running", config, restart: randomUUID() } as const;
    await setDesired({ client: system.dynamodb, table: fleet.table }, fleet.engine, wish, {
      now: Date.now(),
    });
    if (!(await reaches(bench, (status) => !status.startsWith("ENGINE.ROLLING")))) return false;
  }
  return reaches(bench, (status) => status === "ENGINE.ROLLING");
}

export async function reaches(
  { engine, over, patienceMs }: Bench,
  is: (status: string) => boolean,
): Promise<boolean> {
  for (const until = Date.now() + patienceMs; !over.aborted && Date.now() < until; ) {
    if (is((await engine.status()).engine_status)) return true;
    await pause(LOOK_MS / 2);
  }
  return false;
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
