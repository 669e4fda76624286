/** The engine client: every call of the protocol, typed, each with its own time limit. */
import type { Dispatcher } from "undici";
import type { Clock } from "../../core/clock.ts";
import type { Engine, NewerEngine } from "../../core/engine.ts";
import { EngineError } from "../../core/errors.ts";
import {
  canContinueSchema,
  startAnswerSchema,
  stopAnswerSchema,
  successSchema,
  syncAnswerSchema,
} from "../../core/protocol.ts";
import { engineAddress } from "./address.ts";
import { abortBody, claimBody, endBody, grantSchema, withEpisodeAt, withGrantAt } from "./bodies.ts";
import { callTimeouts, type Timeouts } from "./call-names.ts";
import { type Caller, createCaller } from "./calls.ts";
import { sharedDispatcher } from "./dispatcher.ts";
import { newerCalls } from "./newer-calls.ts";
import { bufferAnswerSchema, poolAnswerSchema, statusAnswerSchema } from "./readings.ts";
import { cachedStatus } from "./status.ts";

export interface EngineOptions {
  /** The setting `engineUrl`; may have a path prefix. */
  readonly url: string;
  readonly clock: Clock;
  /** Default: the one of this process. */
  readonly dispatcher?: Dispatcher;
  /** Milliseconds, in place of those of `callTimeouts`. */
  readonly timeouts?: Partial<Timeouts>;
  /** How often a GET that failed is tried again; default 1. */
  readonly getRetries?: number;
}

/** @throws SettingsError where the URL cannot be an engine's. */
export function createEngine(options: EngineOptions): Engine {
  const url = engineAddress(options.url);
  const caller = createCaller({
    url,
    clock: options.clock,
    dispatcher: options.dispatcher ?? sharedDispatcher(),
    timeouts: { ...callTimeouts, ...options.timeouts },
    getRetries: options.getRetries ?? 1,
  });
  const ask = () => caller.get("get_engine_status", statusAnswerSchema);
  return {
    url,
    status: cachedStatus(ask, options.clock),
    ...episodeCalls(url, caller),
    ...lifecycleCalls(caller),
    ...newerCalls(caller),
  };
}

type LifecycleCall = "syncConfig" | "start" | "stop";

type EpisodeCall = Exclude<keyof Engine, "url" | "status" | LifecycleCall | keyof NewerEngine>;

function episodeCalls(url: string, { get, ask, post }: Caller): Pick<Engine, EpisodeCall> {
  return {
    claim: async (request, call) =>
      withGrantAt(url, await post("claim_episode", claimBody(request), grantSchema, call)),
    end: async (request, call) => {
      const { success } = await post("end_episode", endBody(request), successSchema, call);
      if (!success) throw saidNo("end_episode");
    },
    abort: async (clientUuid, episodeUuid, call) => {
      const { success } = await post(
        "abort_episode",
        abortBody(clientUuid, episodeUuid),
        successSchema,
        call,
      );
      if (!success) throw saidNo("abort_episode");
    },
    canContinue: async (client_uuid, episode_uuid) => {
      // As in the reference: no episode, no question.
      if (episode_uuid === "") return false;
      const answer = await ask("can_continue_episode", { client_uuid, episode_uuid }, canContinueSchema);
      return answer.can_continue;
    },
    buffer: async () => {
      const { buffer } = await ask("get_episode_buffer", {}, bufferAnswerSchema);
      return buffer.map((episode) => withEpisodeAt(url, episode));
    },
    pool: () => get("get_current_batch_rollout_pool_information", poolAnswerSchema),
  };
}

function lifecycleCalls({ post }: Caller): Pick<Engine, LifecycleCall> {
  return {
    syncConfig: (yaml, call) => post("sync_train_config", { yaml_as_string: yaml }, syncAnswerSchema, call),
    start: (call) => post("start_engine", {}, startAnswerSchema, call),
    stop: (call) => post("stop_engine", {}, stopAnswerSchema, call),
  };
}

function saidNo(call: string): EngineError {
  return new EngineError({
    failure: "refused",
    call,
    status: 200,
    detail: "the engine answered success: false",
  });
}
