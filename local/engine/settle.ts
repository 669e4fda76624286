/** How a claimed episode comes to its end at the engine; each way waits for the trainer. */
import type { EngineState } from "./engine.ts";
import type { EpisodeRecord } from "./episodes.ts";
import type { ReportedOutput } from "./ledger.ts";
import { slept, timedOut, within } from "./timing.ts";

/** What waiting for the trainer came to. Newer engines answer success to all three. */
type Acknowledgement = "acknowledged" | "given-up" | "cut";

/**
 * Returns after 5 minutes at the latest, and soon after the engine has left its rolling states.
 * @throws Error where an older engine is cut: a 500
 */
async function acknowledgement(engine: EngineState, send: () => Promise<void>): Promise<Acknowledgement> {
  return engine.waiting.pass(async () => {
    const sent = send();
    const { unacknowledgedSeconds: limit, statusPollSeconds: poll } = engine.config;
    for (let waited = 0; waited < limit; waited += poll) {
      if ((await within(engine.clock, Math.min(poll, limit - waited), sent, engine.closed)) !== timedOut)
        return "acknowledged";
      if (engine.isRolling && !engine.closed.aborted) continue;
      if (engine.isNewer) return "cut";
      throw new Error("the engine left its rolling states before the trainer acknowledged");
    }
    return "given-up";
  });
}

/** Hands an output to the trainer and deletes the record, also when nobody took the output: resolves to whether. */
export async function deliver(
  engine: EngineState,
  record: EpisodeRecord,
  taskId: string,
  output: ReportedOutput,
): Promise<boolean> {
  const came = await acknowledgement(engine, () => record.runner.run.takeOutput(record, taskId, output));
  if (came === "cut") return false;
  if (engine.episodes.get(record.uuid) !== record) throw new Error(`KeyError: 'episodes-${record.uuid}'`);
  engine.episodes.finish(record);
  return came === "acknowledged";
}

/** Puts an episode up for claiming again. */
export async function revert(engine: EngineState, record: EpisodeRecord): Promise<void> {
  if (record.status === "claimed") await acknowledgement(engine, () => record.runner.run.reset(record));
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
async function settleAsDiscarded(engine: EngineState, record: EpisodeRecord): Promise<void> {
  const { clientUuid, uuid: episodeUuid } = record;
  try {
    await revert(engine, record);
    engine.ledger.add({ kind: "discard", clientUuid, episodeUuid });
  } catch {
    // The engine left its rolling states: the episode is gone anyway.
  }
}

/** Takes idle episodes back for as long as the engine lives. */
export async function discardRegularly(engine: EngineState): Promise<void> {
  while (await slept(engine.clock, engine.config.discardCheckSeconds, engine.closed)) {
    const now = engine.clock.now();
    const idle = [...engine.episodes.all()].filter(
      (record) => record.status === "claimed" && now - record.activeAt > record.discardSeconds * 1000,
    );
    for (const record of idle) await settleAsDiscarded(engine, record);
  }
}
