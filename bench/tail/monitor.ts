/** Watches an engine from outside, as anybody can: its status, its step, and how many of its slots are claimed. */
import { setTimeout as delay } from "node:timers/promises";
import { createEngine } from "../../functions/adapters/engine/index.ts";
import type { PoolInformation } from "../../functions/core/protocol.ts";
import { systemClock as clock } from "../../functions/system-clock.ts";

export interface Sample {
  /** Seconds since the first sample. */
  readonly at: number;
  readonly status: string;
  readonly step: number;
  readonly claimed: number;
  /** The tasks of the episodes that the engine waits for; only in ROLLING_POST. */
  readonly waitedFor?: readonly string[];
}

export interface Watched {
  readonly samples: readonly Sample[];
  readonly seconds: number;
  /** Policy updates. */
  readonly syncs: number;
  /** Share of the time, by status. */
  readonly shares: Readonly<Record<string, number>>;
  /** Share of slot-seconds that nobody held while the engine was ROLLING. */
  readonly idle: number;
  /** For each time in ROLLING_POST, in order: how long it was, and the tasks of the episodes that were waited for last. */
  readonly waits: readonly Wait[];
}

export interface Wait {
  readonly seconds: number;
  readonly tasks: readonly string[];
}

const INTERVAL_MS = 250;

export async function watchEngine(url: string, slots: number, seconds: number): Promise<Watched> {
  const engine = createEngine({ url, clock });
  const samples: Sample[] = [];
  const began = performance.now();
  while (performance.now() - began < seconds * 1000) {
    const pool = await engine.pool().catch(() => undefined);
    if (pool) samples.push(sampleOf(pool, (performance.now() - began) / 1000));
    await delay(INTERVAL_MS);
  }
  return summarise(samples, slots);
}

function sampleOf(pool: PoolInformation, at: number): Sample {
  const status = (pool.engine_status ?? "").replace("ENGINE.", "");
  const running = Object.values(pool.running_episode_details ?? {});
  const tasks = running.map(({ optional_task_id: task }) => task ?? "");
  return {
    at,
    status,
    step: pool.global_step ?? 0,
    claimed: running.length,
    ...(status === "ROLLING_POST" ? { waitedFor: tasks } : {}),
  };
}

/** The last look at each time in ROLLING_POST that showed somebody still at work. */
function waitsIn(samples: readonly Sample[]): Wait[] {
  const waits: { from: number; seconds: number; tasks: readonly string[] }[] = [];
  for (const [index, { at, status, waitedFor = [] }] of samples.entries()) {
    if (status !== "ROLLING_POST") continue;
    const going = samples[index - 1]?.status === status ? waits.at(-1) : undefined;
    const wait = going ?? { from: at, seconds: 0, tasks: [] };
    if (going === undefined) waits.push(wait);
    wait.seconds = (samples[index + 1]?.at ?? at) - wait.from;
    if (waitedFor.length > 0) wait.tasks = waitedFor;
  }
  return waits.map(({ seconds, tasks }) => ({ seconds, tasks }));
}

export function summarise(samples: readonly Sample[], slots: number): Watched {
  const times: Record<string, number> = {};
  let rolling = 0;
  let idle = 0;
  for (const [index, sample] of samples.entries()) {
    const seconds = (samples[index + 1]?.at ?? sample.at) - sample.at;
    times[sample.status] = (times[sample.status] ?? 0) + seconds;
    if (sample.status !== "ROLLING") continue;
    rolling += seconds;
    idle += (slots - sample.claimed) * seconds;
  }
  const all = samples.at(-1)?.at ?? 0;
  return {
    samples,
    seconds: all,
    syncs: (samples.at(-1)?.step ?? 0) - (samples[0]?.step ?? 0),
    shares: Object.fromEntries(Object.entries(times).map(([status, time]) => [status, time / all])),
    idle: rolling === 0 ? 0 : idle / (slots * rolling),
    waits: waitsIn(samples),
  };
}
