/** How a claimed episode comes to its end at the engine; each way waits for the trainer. */
import type { EngineState } from "./engine.ts";
import type { EpisodeRecord } from "./episodes.ts";
import type { ReportedOutput } from "./ledger.ts";
import { timedOut, within } from "./timing.ts";

/** The engine looks at its own status this often while it waits, s. */
const POLL = 2;
/** Then it goes on as if the trainer had acknowledged: 300 s. */
const POLLS = 150;

/** Returns after 5 minutes at the latest, acknowledged or not. @throws when the engine leaves its rolling states */
async function acknowledged(engine: EngineState, send: () => Promise<void>): Promise<void> {
  await engine.waiting.pass(async () => {
    const sent = send();
    for (let poll = 0; poll < POLLS; poll += 1) {
      if ((await within(engine.clock, POLL, sent, engine.closed)) !== timedOut) return;
      if (!engine.isRolling || engine.closed.aborted)
        throw new Error("the engine left its rolling states before the trainer acknowledged");
    }
  });
}

/** Hands an output to the trainer and deletes the record, also when nobody took the output. */
export async function deliver(
  engine: EngineState,
  record: EpisodeRecord,
  taskId: string,
  output: ReportedOutput,
): Promise<void> {
  await acknowledged(engine, () => record.runner.run.takeOutput(record, taskId, output));
  if (engine.episodes.get(record.uuid) !== record) throw new Error(`KeyError: 'episodes-${record.uuid}'`);
  engine.episodes.finish(record);
}

/** Puts an episode up for claiming again. */
export async function revert(engine: EngineState, record: EpisodeRecord): Promise<void> {
  if (record.status === "claimed") await acknowledged(engine, () => record.runner.run.reset(record));
  engine.episodes.revert(record, engine.clock.now());
}

/** What an abort and the end of an eval episode come to. Nobody asks who holds it. */
export async function giveBack(
  engine: EngineState,
  record: EpisodeRecord,
): Promise<"none" | "reverted" | "deleted"> {
  if (engine.status === "ENGINE.ROLLING") {
    const effect = record.status === "claimed" ? "reverted" : "none";
    await revert(engine, record);
    return effect;
  }
  engine.episodes.delete(record.uuid);
  return "deleted";
}

/** Takes an idle episode back. */
export async function settleAsDiscarded(engine: EngineState, record: EpisodeRecord): Promise<void> {
  const { clientUuid, uuid: episodeUuid } = record;
  try {
    await revert(engine, record);
    engine.ledger.add({ kind: "discard", clientUuid, episodeUuid });
  } catch {
    // The engine left its rolling states: the episode is gone anyway.
  }
}
