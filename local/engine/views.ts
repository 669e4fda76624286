/** What the engine shows of itself. */
import { poolInformationSchema } from "../../functions/core/protocol.ts";
import { emptyReport } from "./batch.ts";
import { ownBaseUrl } from "./calls.ts";
import type { EngineState } from "./engine.ts";
import type { EpisodeRecord } from "./episodes.ts";
import { oneDecimal } from "./python.ts";
import { modelPathOf } from "./train-config.ts";

export function statusView(engine: EngineState) {
  return {
    engine_status: engine.status,
    engine_status_detail: engine.detail,
    global_step: engine.globalStep,
  };
}

export function bufferView(engine: EngineState) {
  return { buffer: [...engine.episodes.all()].map((record) => episodeView(engine, record)) };
}

function episodeView(engine: EngineState, record: EpisodeRecord) {
  return {
    episode_uuid: record.uuid,
    episode_status: record.status,
    episode_type: record.type,
    openai_base_url: ownBaseUrl(engine),
    openai_api_key: record.apiKey,
    client_uuid: record.clientUuid,
    zmq_listen_result_addr: record.address,
    latest_activity_timestamp: record.activeAt / 1000,
    discard_episode_timeout: record.discardSeconds,
    llm_call_count: record.llmCalls,
    debug_log: [],
    optional_task_id: record.taskId,
  };
}

/** The trainer's last report, with what the engine knows by itself. */
export function poolView(engine: EngineState) {
  const claimed = [...engine.episodes.all()].filter((record) => record.status === "claimed");
  const now = engine.clock.now();
  return {
    ...engine.pool,
    ...(engine.isNewer && {
      training_model_path: modelPathOf(engine.trainConfig ?? ""),
      swarm_client_instruction: { active_clients: engine.clients.view(now) },
    }),
    completed_tasks_client_uuids: engine.episodes.finishedClients(),
    running_episode_details:
      claimed.length === 0
        ? null
        : Object.fromEntries(claimed.map((record) => [record.uuid, runningView(record, now)])),
    engine_status: engine.status,
    global_step: engine.globalStep,
    booting_start_time: engine.bootingSince === null ? null : engine.bootingSince / 1000,
  };
}

/** What the server answers where it fails to build the pool, with status 200. */
export const unreadablePool = {
  ...emptyReport,
  completed_tasks_client_uuids: {},
  running_episode_details: null,
  engine_status: null,
  global_step: null,
  booting_start_time: null,
};

function runningView(record: EpisodeRecord, now: number) {
  return {
    episode_status: record.status,
    time_since_last_activity: `${oneDecimal((now - record.activeAt) / 1000)}s`,
    discard_episode_timeout: `${oneDecimal(record.discardSeconds)}s`,
    llm_call_count: String(record.llmCalls),
    client_uuid: record.clientUuid,
    optional_task_id: record.taskId,
  };
}

/** A trainer's report over HTTP: the fields that the engine keeps itself are ignored. */
export function takeReport(engine: EngineState, body: unknown): void {
  const reported = poolInformationSchema.parse(body);
  const known = Object.keys(emptyReport).map((name) => [name, Reflect.get(reported, name)]);
  const given = known.filter(([, value]) => value !== undefined);
  engine.pool = { ...emptyReport, ...Object.fromEntries(given) };
}
