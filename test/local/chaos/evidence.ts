/** Hand-made evidence for the checks: a run in which everything is right, and ways to spoil it. */
import type { RolloutItem } from "../../../functions/core/rollout/item.ts";
import type { Evidence } from "../../../local/chaos/check/evidence.ts";
import type { LedgerEntry, LedgerEvent } from "../../../local/engine/ledger.ts";

export const START = 1_800_000_000_000;
export const KEY = "run/r/train/0/task-1";

/** Entries one second apart. */
export function ledgerOf(...events: LedgerEvent[]): LedgerEntry[] {
  return events.map((event, index) => ({ at: START + index * 1000, globalStep: 1, ...event }));
}

export function claim(clientUuid: string, episodeUuid = "e1", taskId = "task-1"): LedgerEvent {
  return {
    kind: "claim",
    granted: true,
    clientUuid,
    episodeUuid,
    episodeType: "train",
    taskId,
    failCause: "",
  };
}

const outputFor = (rollout: string, reward: number, told = reward) => ({
  reward,
  is_success: true,
  metadata: { rollout, agent_reward: told },
  log_metrics: {},
});

export function output(
  clientUuid: string,
  { episodeUuid = "e1", rollout = KEY, reward = 0.5, told = 0.5 } = {},
): LedgerEvent {
  const facts = { clientUuid, episodeUuid, taskId: "task-1", llmCalls: 1 };
  return { kind: "output", outcome: "counted", ...facts, output: outputFor(rollout, reward, told) };
}

export function abort(
  clientUuid: string,
  holder = clientUuid,
  effect: "reverted" | "none" = "reverted",
): LedgerEvent {
  return { kind: "abort", clientUuid, holder, episodeUuid: "e1", effect };
}

export function past(reason: RolloutItem["history"][number]["reason"], more: object = {}) {
  return { id: "i1.1", episode: "e1", reason, at: START + 1000, from: START, step: 1, ...more };
}

export function itemOf(facts: Partial<RolloutItem> = {}): RolloutItem {
  return {
    v: 1,
    fleet: "main",
    key: KEY,
    engine: "main",
    task_id: "task-1",
    repeat: 0,
    episode_type: "train",
    state: "ended",
    attempts: 0,
    tries: facts.history?.length ?? 1,
    history: [past("ended", { reward: 0.5 })],
    created_at: START,
    changed_at: START,
    stamp: "s",
    ...facts,
  };
}

export function openAttempt(): NonNullable<RolloutItem["attempt"]> {
  return {
    id: "i1.1",
    invocation: "i1",
    episode: "e1",
    global_step: 1,
    discard_timeout: 240,
    claimed_at: START,
    expires_at: START + 1_920_000,
    receipt: "r",
  };
}

/** One rollout, claimed, ended and written down. */
export function evidenceOf(facts: Partial<Evidence> & { item?: RolloutItem } = {}): Evidence {
  const { item = itemOf(), ...rest } = facts;
  return {
    pushed: [KEY],
    ledger: ledgerOf(claim("main/i1.1"), output("main/i1.1")),
    openAtEngine: 0,
    items: new Map([[KEY, item]]),
    letters: [],
    ...rest,
  };
}
