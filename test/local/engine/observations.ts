/** What the recording saw from inside the engine, read from the stand-in's ledger and state. */
import type { LedgerEntry } from "../../../local/engine/ledger.ts";
import type { Replaying } from "./replaying.ts";

const observers: Readonly<Record<string, (replay: Replaying, what: string) => unknown>> = {
  LEDGER: ({ engine }, kinds) => ledger(engine.ledger.entries, kinds.split(",")),
  "BUFFER SIZE": ({ engine }) => engine.inspect().episodes.length,
  TRAINERS: ({ engine }) => engine.inspect().trainers,
  STATES: ({ engine }) =>
    engine.ledger
      .of("status")
      .slice(-3)
      .map(({ status }) => status),
  KEY: ({ engine }) => {
    const key = engine.inspect().episodes[0]?.openai_api_key ?? "";
    return JSON.parse(Buffer.from(key.replace("sk-ajet-", ""), "base64").toString());
  },
  POOL: async (replay) => {
    const first = await completed(replay);
    await replay.advance(0.5);
    return [first, await completed(replay)];
  },
};

export async function observe(replay: Replaying, method: string, what: string): Promise<unknown> {
  const observer = observers[method];
  if (observer === undefined) throw new Error(`no way to observe ${method}`);
  return observer(replay, what);
}

async function completed(replay: Replaying): Promise<unknown> {
  const pool = await replay.call("/get_current_batch_rollout_pool_information");
  return (pool as { completed_episodes: number }).completed_episodes;
}

/** Entries of these kinds as the recording's trainer wrote them. */
function ledger(entries: readonly LedgerEntry[], kinds: readonly string[]): unknown[] {
  return entries.map(asRecorded).filter((entry) => entry !== undefined && kinds.includes(entry.kind));
}

function asRecorded(entry: LedgerEntry): ({ kind: string } & Record<string, unknown>) | undefined {
  const { globalStep: global_step } = entry;
  switch (entry.kind) {
    case "output":
      return {
        kind: "output",
        global_step,
        outcome: entry.outcome,
        episode_uuid: entry.episodeUuid,
        task_id: entry.taskId,
        ...entry.output,
        llm_calls: entry.llmCalls,
      };
    case "reset":
      return { kind: "reset", global_step, episode_uuid: entry.episodeUuid };
    case "slot-lost":
      return { kind: "slot_lost", global_step, slot: entry.slot, error: entry.error };
    case "model-call":
      return {
        kind: "model_call",
        global_step,
        episode_uuid: entry.episodeUuid,
        preserve_sampling_params: entry.preserveSampling,
        request: entry.request,
      };
    default:
      return undefined;
  }
}
