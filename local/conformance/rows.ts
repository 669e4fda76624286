/** Judges a run: one row for each thing that has to hold. Pure, so that each verdict can be tested by itself. */
import type { ChangedRollout } from "../../functions/core/housekeeping/totals.ts";
import type { LedgerOutput } from "./ledger.ts";
import type { PoolSeen } from "./pool-watch.ts";

export interface Row {
  readonly row: string;
  readonly expected: string;
  readonly found: string;
  readonly ok: boolean;
}

export interface Phase {
  readonly name: string;
  readonly pushed: number;
  readonly rollouts: readonly ChangedRollout[];
  /** Whether functions or the engine were torn down in it: an end may then stay unknown. */
  readonly isRough: boolean;
}

export interface ConformanceEvidence {
  readonly phases: readonly Phase[];
  readonly pool: PoolSeen;
  /** With which the ids of all tasks of evals begin: their episodes are put up for claiming again, and then count. */
  readonly evalPrefix: string;
  /** Syncs that the main job has to bring about, at least. */
  readonly syncs: number;
  readonly throttle: { readonly prefix: string; readonly limit: number };
  /** Episodes of ours that the engine's buffer still shows as claimed. */
  readonly openAtEngine: number;
  /** Function processes that were killed; undefined where that phase was not reached. */
  readonly kills: number | undefined;
  /** Whether the engine rolled again after its restart; undefined where there was none to be. */
  readonly restarted: boolean | undefined;
  readonly ledger: readonly LedgerOutput[] | undefined;
}

/** The trainer reports at least every 12 s: what ended shortly before the batch was gone may never be shown. */
const LAG_MS = 15_000;

export function judge(evidence: ConformanceEvidence): Row[] {
  const { ledger, pool, syncs, openAtEngine, kills, restarted } = evidence;
  return [
    ...evidence.phases.map(phaseRow),
    row("weight syncs seen", `at least ${syncs}`, pool.syncs, pool.syncs >= syncs),
    throttleRow(evidence),
    ...(kills === undefined ? [] : [row("functions killed", "at least 1", kills, kills > 0)]),
    ...(restarted === undefined
      ? []
      : [row("the engine rolls again after a restart", "yes", restarted ? "yes" : "no", restarted)]),
    row("episodes of ours left open at the engine", 0, openAtEngine, openAtEngine === 0),
    ...poolRows(evidence),
    ...(ledger === undefined ? [] : ledgerRows(evidence, ledger)),
  ];
}

function row(name: string, expected: string | number, found: string | number, ok: boolean): Row {
  return { row: name, expected: String(expected), found: String(found), ok };
}

function phaseRow({ name, pushed, rollouts, isRough }: Phase): Row {
  const of = (state: string) => rollouts.filter((rollout) => rollout.state === state).length;
  const [ended, unknown, lost, dead] = [of("ended"), of("unknown"), of("lost"), of("dead")];
  const settled = isRough ? ended + unknown + lost : ended;
  const rest = [
    `${ended} ended`,
    ...some(unknown, "unknown"),
    ...some(lost, "lost with their training"),
    ...some(dead, "dead letters"),
  ];
  const open = pushed - ended - unknown - lost - dead;
  return row(name, `${pushed} ended`, [...rest, ...some(open, "not final")].join(", "), settled === pushed);
}

function some(count: number, what: string): string[] {
  return count === 0 ? [] : [`${count} ${what}`];
}

/**
 * The throttle bounds what is new in a batch: a task that the fleet has had in an earlier one always passes, since its other
 * repeats are wanted. Of which batch it was the table knows better than looks at the pool, which miss short episodes.
 */
function throttleRow({ phases, pool, throttle: { prefix, limit } }: ConformanceEvidence): Row {
  const firstStep = new Map<string, number>();
  for (const { task_id, history } of phases.flatMap(({ rollouts }) => rollouts))
    for (const { step } of history)
      firstStep.set(task_id, Math.min(step ?? Infinity, firstStep.get(task_id) ?? Infinity));
  const counts = [...pool.batches(prefix)].map(
    ([step, tasks]) => [...tasks].filter((task) => (firstStep.get(task) ?? step) >= step).length,
  );
  const most = Math.max(0, ...counts);
  const name = "new tasks of the throttled fleet in a batch";
  return row(name, `1 to ${limit}`, most, most >= 1 && most <= limit);
}

interface Ended {
  readonly key: string;
  readonly episode: string;
  readonly at: number;
  readonly reward: unknown;
  readonly isEval: boolean;
  readonly isRough: boolean;
}

function endedOf({ phases }: ConformanceEvidence): Ended[] {
  return phases
    .flatMap(({ rollouts, isRough }) => rollouts.map((rollout) => ({ ...rollout, isRough })))
    .filter(({ state }) => state === "ended")
    .flatMap(({ key, history, episode_type, isRough }) => {
      const last = history.at(-1);
      if (last === undefined) return [];
      const { episode, at, reward } = last;
      return [{ key, episode, at, reward, isEval: episode_type === "eval", isRough }];
    });
}

/** An episode may have been held by several rollouts, one after the other: the last one answers for what it came to. */
function countedTwice({ phases }: ConformanceEvidence, episodes: ReadonlySet<string>): number {
  const holders = new Map<string, { readonly key: string; readonly at: number }>();
  for (const { key, history } of phases.flatMap(({ rollouts }) => rollouts))
    for (const { episode, at } of history)
      if (at >= (holders.get(episode)?.at ?? 0)) holders.set(episode, { key, at });
  const held = [...episodes].flatMap((episode) => holders.get(episode)?.key ?? []);
  return [...Map.groupBy(held, (key) => key).values()].filter((several) => several.length > 1).length;
}

function poolRows(evidence: ConformanceEvidence): Row[] {
  const { pool, ledger } = evidence;
  const ended = endedOf(evidence);
  const train = ended.filter(({ isEval }) => !isEval);
  const missing = train.filter(({ episode }) => !pool.episodes.has(episode));
  const inLedger = new Set(ledger?.map(({ episode }) => episode));
  const isLate = (one: Ended) =>
    inLedger.has(one.episode) ||
    wasCut(one, evidence) ||
    pool.left.some((left) => left >= one.at && left - one.at <= LAG_MS);
  const late = missing.filter(isLate).length;
  const shown = train.length - missing.length;
  const evals = [...pool.tasks].filter((task) => task.startsWith(evidence.evalPrefix)).length;
  const twice = countedTwice(evidence, pool.episodes);
  return [
    row(
      "ended train episodes that the pool has shown",
      `${train.length}`,
      late > 0 ? `${shown}, and ${late} that ended too shortly before the batch was gone` : shown,
      missing.length === late,
    ),
    row("evals among the pool's samples", 0, evals, evals === 0),
    row("rollouts that the pool shows twice", 0, twice, twice === 0),
  ];
}

/**
 * Where the engine is stopped, a newer one answers an end that waits for the trainer with success and never delivers it:
 * the client cannot know, and the answer comes about when the engine leaves its rolling states.
 */
function wasCut({ isRough, at }: Ended, { pool }: ConformanceEvidence): boolean {
  return isRough && pool.left.some((left) => Math.abs(left - at) <= LAG_MS);
}

function ledgerRows(evidence: ConformanceEvidence, ledger: readonly LedgerOutput[]): Row[] {
  const train = endedOf(evidence).filter(({ isEval }) => !isEval);
  const outputs = new Map(ledger.map((output) => [output.episode, output]));
  const delivered = train.filter(({ episode }) => outputs.has(episode));
  const cut = train.filter((one) => !outputs.has(one.episode) && wasCut(one, evidence)).length;
  const other = delivered.filter(({ episode, reward }) => !isSame(outputs.get(episode)?.reward, reward));
  const twice = ledger.length - outputs.size + countedTwice(evidence, new Set(outputs.keys()));
  return [
    row(
      "ended train episodes in the ledger",
      train.length,
      cut > 0 ? `${delivered.length}, and ${cut} whose end the engine's stop has cut` : delivered.length,
      delivered.length + cut === train.length,
    ),
    row("… with another reward than the table's", 0, other.length, other.length === 0),
    row("… twice", 0, twice, twice === 0),
  ];
}

function isSame(given: unknown, told: unknown): boolean {
  return typeof given === "number" && typeof told === "number"
    ? Math.abs(given - told) < 1e-9
    : given === told;
}
