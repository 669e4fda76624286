/** The rollouts of a chaos run: what is pushed, in which order, and what their agent will suffer from. */

import type { Task } from "../../functions/core/protocol.ts";
import { type Envelope, encodeMessage } from "../../functions/core/rollout/envelope.ts";
import { runKey } from "../../functions/core/rollout/message.ts";
import { generateProblems } from "../problems/problems.ts";
import { createRandom, integer, pick } from "../random.ts";
import { chooseGuilty, type GuiltyCounts } from "./guilty.ts";
import type { FaultKind, Tally } from "./kinds.ts";
import { type Ailment, ailments, type ChaosTask } from "./task-facts.ts";

export interface Push {
  readonly body: string;
  readonly delaySeconds: number;
}
export interface Pushes {
  readonly tasks: readonly Task[];
  /** Keys of the rollouts. */
  readonly keys: readonly string[];
  /** Bodies that are no rollouts. */
  readonly invalid: readonly string[];
  /** The body of a message without a run, whose agent always throws. */
  readonly runless: string | undefined;
  readonly messages: readonly Push[];
  /** What the agents of some rollouts suffer from at every attempt, by key. */
  readonly guilty: ReadonlyMap<string, Ailment>;
}
export interface PushOptions {
  readonly seed: number;
  readonly run: string;
  readonly rollouts: number;
  readonly repeats: number;
  readonly kinds: readonly FaultKind[];
  /** How many of the rollouts do what at every attempt, beside those that the kinds bring. */
  readonly guilty?: GuiltyCounts | undefined;
  /** How long an agent takes at least. */
  readonly agentSeconds?: number | undefined;
}

const rates: Readonly<Record<Ailment, number>> = {
  hang: 0.015,
  ignore: 0.015,
  throw: 0.05,
  garbage: 0.02,
  block: 0.01,
  slow: 0.03,
  "no-call": 0.01,
  exit: 0.01,
  spin: 0.004,
  bloat: 0.004,
  reject: 0.01,
};
const ALWAYS = 0.02;
/** Each attempt at a task that always suffers from one of these costs the rollout. */
const DEADLY: ReadonlySet<Ailment> = new Set(["throw", "garbage", "exit", "spin", "bloat"]);
/** So rare by themselves that a small run would have none: one of each is planted in a run of so many rollouts. */
const PLANTED: readonly Ailment[] = ["exit", "spin", "bloat", "reject"];
const PLANTED_FROM = 20;
const TWICE = 0.04;
const LATE = 0.08;
const INVALID = 0.01;
/** Messages. */
const SHUFFLE_SPAN = 16;

export function makePushes(options: PushOptions, tally: Tally): Pushes {
  const { seed, run, rollouts, repeats, kinds } = options;
  const wanted = new Set(kinds);
  const random = createRandom("pushes", seed);
  const tasks = generateProblems({ seed, count: Math.ceil(rollouts / repeats) });
  const suffered = ailments.filter((ailment) => wanted.has(`agent-${ailment}`));
  const harms = plantedAmong(options, suffered);
  const plain = tasks
    .flatMap((task) => Array.from({ length: repeats }, (_, repeat) => ({ task, repeat, run })))
    .slice(0, rollouts);
  const guilty = new Map(
    plain.flatMap((one, at) => withHarm(keyOf({ ...one, episode_type: "train" }), harms.get(at))),
  );
  const envelopes = plain.map((envelope) =>
    withChaos(envelope, { seed, suffered, guilty, seconds: options.agentSeconds }, random),
  );
  const keys = envelopes.map(keyOf);
  const bodies = envelopes.map(encodeMessage);
  const invalid = wanted.has("queue-invalid")
    ? Array.from(
        { length: Math.max(1, Math.round(rollouts * INVALID)) },
        (_, index) => `{"task": "no task ${index}"`,
      )
    : [];
  const twice = wanted.has("queue-pushed-twice") ? bodies.filter(() => random() < TWICE) : [];
  const runless = wanted.has("queue-redrive-unanswered") ? runlessBody(seed) : undefined;
  tally.add("queue-invalid", invalid.length);
  tally.add("queue-pushed-twice", twice.length);
  const all = [...bodies, ...twice, ...invalid, ...(runless ? [runless] : [])];
  if (wanted.has("queue-shuffled")) tally.add("queue-shuffled", all.length);
  const ordered = wanted.has("queue-shuffled") ? shuffled(all, random) : all;
  const messages = ordered.map((body) => ({ body, delaySeconds: lateness(wanted, random) }));
  tally.add("queue-late", messages.filter(({ delaySeconds }) => delaySeconds > 0).length);
  return { tasks, keys, invalid, runless, messages, guilty };
}

/** Known by its message alone: sent again, it is another rollout. */
function runlessBody(seed: number): string {
  const facts: ChaosTask = { rollout: "plain", seed, rates: [], always: "throw" };
  return JSON.stringify({ task: { task_id: "plain", main_query: "1 + 1", metadata: facts } });
}

/** The draw is its own, so that the others keep theirs. */
function plantedAmong({ seed, rollouts, guilty }: PushOptions, suffered: readonly Ailment[]) {
  const planted = rollouts < PLANTED_FROM ? [] : PLANTED.filter((ailment) => suffered.includes(ailment));
  const counts = guilty ?? Object.fromEntries(planted.map((ailment) => [ailment, 1]));
  return chooseGuilty(counts, rollouts, createRandom("guilty", seed));
}

function withHarm(key: string, ailment: Ailment | undefined): [string, Ailment][] {
  return ailment === undefined ? [] : [[key, ailment]];
}

function withChaos(
  envelope: Omit<Envelope, "episode_type">,
  {
    seed,
    suffered,
    guilty,
    seconds,
  }: {
    seed: number;
    suffered: readonly Ailment[];
    guilty: ReadonlyMap<string, Ailment>;
    seconds: number | undefined;
  },
  random: () => number,
): Envelope {
  const [dies, which] = [random() < ALWAYS, random()];
  const deadly = suffered.filter((ailment) => DEADLY.has(ailment));
  const facts: ChaosTask = {
    rollout: keyOf(envelope),
    seed,
    seconds,
    rates: suffered.map((ailment) => [ailment, rates[ailment]]),
    always:
      guilty.get(keyOf(envelope)) ?? (dies && deadly.length > 0 ? pick(() => which, deadly) : undefined),
  };
  return { ...envelope, task: { ...envelope.task, metadata: { ...envelope.task.metadata, ...facts } } };
}

/** As `functions/core/rollout/message.ts` names a rollout. */
function keyOf({ run, repeat, task }: Envelope): string {
  return runKey(task, { run, repeat, episodeType: "train" });
}

function lateness(wanted: ReadonlySet<FaultKind>, random: () => number): number {
  const [late, seconds] = [random() < LATE, integer(random, 1, 8)];
  return late && wanted.has("queue-late") ? seconds : 0;
}

/** As far out of order as many senders at once would make it; the repeats of a task stay near each other. */
function shuffled<T>(items: readonly T[], random: () => number): T[] {
  return items
    .map((item, index) => [index + random() * SHUFFLE_SPAN, item] as const)
    .toSorted(([a], [b]) => a - b)
    .map(([, item]) => item);
}
