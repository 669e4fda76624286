/** What became of the rollouts of a run, from the table and from the stand-in engine's ledger. */
import type { LifecycleReader } from "../../functions/core/housekeeping/take-snapshot.ts";
import type { ChangedRollout } from "../../functions/core/housekeeping/totals.ts";
import type { Ledger } from "../engine/ledger.ts";

export interface Account {
  readonly ended: number;
  readonly dead: number;
  readonly unknown: number;
  /** Those that went with their training. */
  readonly lost: number;
  readonly open: number;
  readonly attempts: number;
  readonly rewardMean: number | null;
  readonly rewardRange: readonly [number, number] | null;
}

/** Reads only what has changed since the last look; a margin covers writes that show late. */
const LATE_MS = 5000;

export class Accounting {
  readonly #store: LifecycleReader;
  readonly #fleets: readonly string[];
  readonly #prefix: string;
  readonly #rollouts = new Map<string, ChangedRollout>();
  #since = 0;

  /** `run` names the rollouts that count. */
  constructor(store: LifecycleReader, fleets: readonly string[], run: string) {
    this.#store = store;
    this.#fleets = fleets;
    this.#prefix = `run/${run}/`;
  }

  async read(now: number): Promise<Account> {
    for (const fleet of this.#fleets)
      for await (const page of this.#store.changedSince(fleet, this.#since))
        for (const rollout of page)
          if (rollout.key.startsWith(this.#prefix)) this.#rollouts.set(rollout.key, rollout);
    this.#since = now - LATE_MS;
    return this.#sum();
  }

  /** All of them, whenever they changed: a write that took longer than the margin shows too. */
  readAll(now: number): Promise<Account> {
    this.#since = 0;
    return this.read(now);
  }

  /** As they were at the last look. */
  all(): ChangedRollout[] {
    return [...this.#rollouts.values()];
  }

  /** Which attempt belongs to which rollout. */
  rolloutOfAttempt(): Map<string, string> {
    const attempts = [...this.#rollouts.values()].flatMap((rollout) =>
      rollout.history.map(({ id }) => [id, rollout.key] as const),
    );
    return new Map(attempts);
  }

  /** One that is worth a look: the first that died, else the one with the lowest reward. */
  example(): string | undefined {
    const worth = ({ state, history }: ChangedRollout) => {
      const { reward } = history.at(-1) ?? {};
      if (state === "dead") return Number.NEGATIVE_INFINITY;
      return typeof reward === "number" ? reward : Number.POSITIVE_INFINITY;
    };
    return this.all()
      .filter(({ history }) => history.length > 0)
      .sort((a, b) => worth(a) - worth(b))[0]?.key;
  }

  /** Of ended rollouts, by the engine's step at their claim. */
  rewardMeanByStep(): Record<string, number> {
    const steps = new Map<number, number[]>();
    for (const { history } of this.#rollouts.values()) {
      const { reason, step, reward } = history.at(-1) ?? {};
      if (reason !== "ended" || typeof reward !== "number" || typeof step !== "number") continue;
      steps.set(step, [...(steps.get(step) ?? []), reward]);
    }
    const sorted = [...steps].sort(([a], [b]) => a - b);
    return Object.fromEntries(sorted.map(([step, rewards]) => [step, mean(rewards)]));
  }

  #sum(): Account {
    const rollouts = [...this.#rollouts.values()];
    const in_ = (state: string) => rollouts.filter((rollout) => rollout.state === state);
    const rewards = in_("ended").flatMap(({ history }) => {
      const reward = history.at(-1)?.reward;
      return typeof reward === "number" ? [reward] : [];
    });
    return {
      ended: in_("ended").length,
      dead: in_("dead").length,
      unknown: in_("unknown").length,
      lost: in_("lost").length,
      open: in_("running").length + in_("reporting").length,
      attempts: rollouts.reduce((sum, { history }) => sum + history.length, 0),
      rewardRange: rewards.length === 0 ? null : [Math.min(...rewards), Math.max(...rewards)],
      rewardMean:
        rewards.length === 0 ? null : rewards.reduce((sum, reward) => sum + reward, 0) / rewards.length,
    };
  }
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

export interface EngineAccount {
  /** Outputs that reached the trainer. */
  readonly ended: number;
  /** Rollouts of which more than one output reached it. */
  readonly duplicates: number;
  /** Outputs of attempts that the table does not know. */
  readonly strangers: number;
  readonly open: number;
}

export function engineAccount(
  ledger: Ledger,
  open: number,
  rolloutOfAttempt: Map<string, string>,
): EngineAccount {
  const outputs = ledger.entries.filter((entry) => entry.kind === "output");
  const seen = new Map<string, number>();
  let strangers = 0;
  for (const { clientUuid } of outputs) {
    const rollout = rolloutOfAttempt.get(clientUuid.slice(clientUuid.indexOf("/") + 1));
    if (rollout === undefined) strangers += 1;
    else seen.set(rollout, (seen.get(rollout) ?? 0) + 1);
  }
  const duplicates = [...seen.values()].filter((count) => count > 1).length;
  return { ended: outputs.length, duplicates, strangers, open };
}
