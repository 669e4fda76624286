/** Every route of the engine, the trainer's own among them. */
import { engineStatuses } from "../../functions/core/protocol.ts";
import { type Answer, internalError, ok, Refusal, success } from "./answers.ts";
import {
  agreeBody,
  canContinueBody,
  claimBody,
  configBody,
  type EndBody,
  endBodies,
  isClaimedBody,
  statusBody,
  verboseLogBody,
} from "./bodies.ts";
import { abortEpisode, canContinue, claimEpisode, endEpisode } from "./calls.ts";
import { chat } from "./chat.ts";
import type { EngineState } from "./engine.ts";
import { agreeSyncWeight, experimentDir, pushVerboseLog, syncTrainCode, verboseLogs } from "./newer-calls.ts";
import { readBody } from "./request-body.ts";
import { startTrainer } from "./trainer.ts";
import { anything, type Check, type Checked } from "./validation.ts";
import { bufferView, poolView, statusView, takeReport, unreadablePool } from "./views.ts";

export interface Request {
  readonly body: string;
  readonly bytes: Buffer;
  readonly contentType: string | undefined;
  readonly authorization: string | undefined;
  /** The header `x-api-key`. */
  readonly apiKey: string | undefined;
}
export type Handler = (engine: EngineState, request: Request) => Answer | Promise<Answer>;

const posts: Readonly<Record<string, Handler>> = {
  "/claim_episode": reads(claimBody, claimEpisode),
  "/end_episode": readsEnd(endEpisode),
  "/abort_episode": readsEnd(abortEpisode),
  "/can_continue_episode": reads(canContinueBody, (engine, body) => canContinue(engine, body.episode_uuid)),
  "/get_episode_buffer": (engine) => (engine.poolIsUnreadable() ? internalError : ok(bufferView(engine))),
  "/v1/chat/completions": (engine, { authorization, body }) => chat(engine, authorization, body),
  "/replay_latest_llm_call": replayLatestCall,
  "/sync_train_config": reads(configBody, syncTrainConfig),
  "/start_engine": startEngine,
  "/stop_engine": stopEngine,
  "/update_engine_status": reads(statusBody, updateStatus),
  "/update_current_batch_rollout_pool_information": reads(anything, (engine, body) => {
    takeReport(engine, body);
    return success();
  }),
  "/is_episode_claimed": reads(isClaimedBody, isClaimed),
};

/** Of newer engines only. */
const newerPosts: Readonly<Record<string, Handler>> = {
  "/agree_sync_weight": reads(agreeBody, agreeSyncWeight),
  "/sync_train_code": (engine, { bytes }) => syncTrainCode(engine, bytes),
  "/push_verbose_log": reads(verboseLogBody, pushVerboseLog),
};
const newerGets: Readonly<Record<string, Handler>> = {
  "/get_server_experiment_dir": experimentDir,
  "/get_verbose_logs": verboseLogs,
};
/** Of the newer model route only. */
const newerModelPosts: Readonly<Record<string, Handler>> = {
  "/v1/responses": (engine, { authorization, body }) => chat(engine, authorization, body, "responses"),
  "/v1/messages": (engine, { authorization, apiKey, body }) =>
    chat(engine, authorization ?? apiKey, body, "messages"),
};

const gets: Readonly<Record<string, Handler>> = {
  "/health": () => ok({ status: "ok" }),
  "/get_engine_status": (engine) => ok(statusView(engine)),
  "/get_current_batch_rollout_pool_information": (engine) =>
    ok(engine.poolIsUnreadable() ? unreadablePool : poolView(engine)),
};

/** @throws Refusal 404 for an unknown path, 405 for an unknown method */
export function handlerOf({ isNewer, config }: EngineState, method: string, path: string): Handler {
  const newer = { gets: isNewer ? newerGets : {}, posts: isNewer ? newerPosts : {} };
  const model = config.chatRoute === "newer" ? newerModelPosts : {};
  const get = own(gets, path) ?? own(newer.gets, path);
  const post = own(posts, path) ?? own(newer.posts, path) ?? own(model, path);
  const handler = method === "GET" ? get : method === "POST" ? post : undefined;
  if (handler !== undefined) return handler;
  const isKnown = get !== undefined || post !== undefined;
  throw isKnown ? new Refusal(405, "Method Not Allowed") : new Refusal(404, "Not Found");
}

function own(routes: Readonly<Record<string, Handler>>, path: string): Handler | undefined {
  return Object.hasOwn(routes, path) ? routes[path] : undefined;
}

function reads<C extends Check<unknown>>(
  check: C,
  act: (engine: EngineState, body: Checked<C>) => Answer | Promise<Answer>,
): Handler {
  const typed = check as Check<Checked<C>>;
  return (engine, { body, contentType }) => act(engine, readBody(typed, body, contentType));
}

function readsEnd(act: (engine: EngineState, body: EndBody) => Promise<Answer>): Handler {
  return (engine, { body, contentType }) =>
    act(engine, readBody<EndBody>(endBodies[engine.config.engineVersion], body, contentType));
}

function syncTrainConfig(engine: EngineState, body: Checked<typeof configBody>): Answer {
  if (engine.status !== "ENGINE.OFFLINE") {
    const advice = "Call `stop_engine` first before syncing new training configuration.";
    throw new Refusal(400, `Engine is already started. ${advice}`);
  }
  // Not looked at before the engine is started.
  engine.trainConfig = body.yaml_as_string;
  return ok({ success: true });
}

function startEngine(engine: EngineState): Answer {
  if (engine.isNewer && engine.status !== "ENGINE.OFFLINE") {
    const advice = "Call `stop_engine` first before starting the engine again.";
    throw new Refusal(400, `Engine is already started. Current status: [${engine.status}]. ${advice}`);
  }
  return ok(startTrainer(engine));
}

function stopEngine(engine: EngineState): Answer {
  engine.stop();
  return success();
}

function updateStatus(engine: EngineState, body: Checked<typeof statusBody>): Answer {
  const known: readonly string[] = engineStatuses;
  if (!known.includes(body.engine_status)) return success(false, "Invalid engine status");
  engine.setStatus(body.engine_status, { detail: body.engine_status_detail, globalStep: body.global_step });
  return success();
}

function isClaimed(engine: EngineState, body: Checked<typeof isClaimedBody>): Answer {
  const record = engine.isRolling ? engine.episodes.get(body.episode_uuid) : undefined;
  if (record?.status === "claimed") return success();
  if (record !== undefined && body.unregister_if_not_claimed) engine.episodes.forget(record.uuid);
  return success(false);
}

function replayLatestCall(engine: EngineState): Answer {
  if (engine.latestCall === undefined) throw new Refusal(404, "No LLM call has been made yet");
  return ok(engine.latestCall);
}
