/** The calls of the engine's API about episodes. Each checks in the order of the real one. */
import { type Answer, ok, Refusal } from "./answers.ts";
import type { ClaimBody, EndBody } from "./bodies.ts";
import type { EngineState } from "./engine.ts";
import type { EpisodeRecord } from "./episodes.ts";
import { deliver, giveBack } from "./settle.ts";

const advice: Readonly<Record<string, string>> = {
  "ENGINE.OFFLINE":
    "Please start the engine first. Please use one of the client to run `client.sync_train_config() + client.start_engine()` to start the engine.",
  "ENGINE.BOOTING": "Please wait until the engine is fully booted. Try again (maybe 1 minute) later.",
  "ENGINE.WEIGHT_SYNCING": "Engine is syncing weights. Try again (maybe 1 minute) later.",
  "ENGINE.WEIGHT_EXPORTING":
    "Engine is exporting weights (fsdp -> hf safetensor). Try again (maybe 1 minute) later.",
  "ENGINE.ROLLING_POST": "Engine is in post-rolling phase. Try again (maybe 1 minute) later.",
};

export function claimEpisode(engine: EngineState, body: ClaimBody): Answer {
  const granted = takeFromLine(engine, body);
  const [record, failCause] = typeof granted === "string" ? [undefined, granted] : [granted, ""];
  engine.ledger.add({
    kind: "claim",
    granted: record !== undefined,
    clientUuid: body.client_uuid,
    episodeUuid: record?.uuid ?? "",
    episodeType: body.episode_type,
    taskId: body.throttle_policy?.current_task_id ?? "",
    failCause,
  });
  return ok({
    success: record !== undefined,
    client_uuid: body.client_uuid,
    episode_uuid: record?.uuid ?? "",
    openai_base_url: record === undefined ? "" : ownBaseUrl(engine),
    openai_api_key: record?.apiKey ?? "",
    fail_cause: failCause,
  });
}

/** The record, or why there is none. */
function takeFromLine(engine: EngineState, body: ClaimBody): EpisodeRecord | string {
  if (engine.status !== "ENGINE.ROLLING") {
    return `Engine not ready. Current status: [${engine.status}]. ${advice[engine.status] ?? ""}`;
  }
  const { episode_type: type } = body;
  if (type !== "train" && type !== "eval") throw new Refusal(400, `Unknown episode_type: ${type}`);
  const claimant = {
    clientUuid: body.client_uuid,
    type,
    discardSeconds: body.discard_episode_timeout,
    taskId: body.throttle_policy?.current_task_id ?? "",
  } as const;
  engine.clients.touch(claimant.clientUuid, engine.clock.now());
  const record = engine.episodes.claim(claimant, engine.clock.now());
  if (record === undefined) return "No available episodes to claim. Try again (maybe 1 minute) later.";
  if (record === "gone") return "No available episodes to claim. Try again (maybe 2 minutes) later.";
  return record;
}

/** The engine's address as it sees itself: no client can use it as it stands. */
export function ownBaseUrl(engine: EngineState): string {
  return `http://localhost:${engine.port}/v1`;
}

export async function endEpisode(engine: EngineState, body: EndBody): Promise<Answer> {
  const record = engine.episodes.get(body.episode_uuid);
  const episodeType = record?.type;
  const note = (accepted: boolean, refusal: string, delivered: boolean) =>
    engine.ledger.add({
      kind: "end",
      accepted,
      clientUuid: body.client_uuid,
      episodeUuid: body.episode_uuid,
      episodeType,
      taskId: body.task_id,
      output: body.workflow_output,
      refusal,
      delivered,
    });
  try {
    note(true, "", await settleEnd(engine, body));
  } catch (error) {
    note(false, error instanceof Error ? error.message : String(error), false);
    throw error;
  }
  return ok({ success: true });
}

/** Resolves to whether the trainer got the output. Whoever has ended one counts as active, unless told otherwise. */
async function settleEnd(engine: EngineState, body: EndBody): Promise<boolean> {
  const record = endable(engine, body);
  const isTrain = record.type === "train";
  const delivered = isTrain && (await deliver(engine, record, body.task_id, body.workflow_output));
  if (!isTrain) await giveBack(engine, record);
  if (body.declare_client_active && engine.isRolling)
    engine.clients.declareActive(body.client_uuid, engine.clock.now());
  return delivered;
}

function endable(engine: EngineState, body: EndBody): EpisodeRecord {
  if (!engine.isRolling) {
    const state = `Current status: [${engine.status}]`;
    throw new Refusal(400, `Engine is not in rolling state. ${state}. Cannot end episode.`);
  }
  const { episode_uuid: uuid, client_uuid: client, workflow_output: output } = body;
  // An assertion in the real one: a 500 in plain text.
  if (output.metadata["task_id"] !== body.task_id) throw new Error("metadata.task_id is not task_id");
  const record = engine.episodes.get(uuid);
  if (record === undefined) throw new Refusal(400, `Episode ${uuid} not found.`);
  if (record.status !== "claimed") throw new Refusal(400, notClaimed(uuid));
  if (record.clientUuid !== client) {
    const holder = record.clientUuid;
    throw new Refusal(404, `Episode ${uuid} is claimed by different client: ${holder}, but got ${client}.`);
  }
  return record;
}

function notClaimed(uuid: string): string {
  return `Episode ${uuid} is not in claimed status, maybe you take **too long** to submit the workflow output, try increase \`discard_episode_timeout\` when \`begin_episode\`.`;
}

/** Anybody may abort anything, and hears success. */
export async function abortEpisode(engine: EngineState, body: EndBody): Promise<Answer> {
  const record = engine.isRolling ? engine.episodes.get(body.episode_uuid) : undefined;
  const holder = record?.clientUuid ?? "";
  const effect = record === undefined ? "none" : await giveBack(engine, record);
  engine.ledger.add({
    kind: "abort",
    clientUuid: body.client_uuid,
    holder,
    episodeUuid: body.episode_uuid,
    effect,
  });
  return ok({ success: true });
}

/** Whoever asks, and whoever holds it. */
export function canContinue(engine: EngineState, episodeUuid: string): Answer {
  const claimed = engine.episodes.get(episodeUuid)?.status === "claimed";
  return ok({ can_continue: engine.isRolling && claimed });
}
