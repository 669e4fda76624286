/** The port to an engine. The one implementation is `adapters/engine`. */
import type {
  AgreeAnswer,
  ClaimAnswer,
  ClaimRequest,
  CodeAnswer,
  EndRequest,
  EngineStatus,
  EpisodeStatus,
  PoolInformation,
  StartAnswer,
  StopAnswer,
  SyncAnswer,
  VerboseLog,
} from "./protocol.ts";

/** For the calls that change something: when to give up. The failure is then `unclear`, unless nothing was sent. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds; default: the call's own limit. */
  readonly timeoutMs?: number | undefined;
}

/**
 * What engines offer since May 2026. On an older one each throws `NotOfferedError`, and nothing was done. The version of
 * an engine is recognised by that, not by a name.
 */
export interface NewerEngine {
  /** The trainer's `ajet/` folder as a zip, before the config. @throws EngineError `refused` (400) unless OFFLINE. */
  syncCode(zip: Uint8Array, options?: CallOptions): Promise<CodeAnswer>;
  /** The folder of the running experiment on the engine's machine; null before there is one. */
  experimentDir(): Promise<string | null>;
  /** Puts a line where the engine's own terminal shows it, for 30 s. Its text must hold no secret and no prompt. */
  pushLog(line: { tag: string; message: string }, options?: CallOptions): Promise<void>;
  /** The lines of the last 30 s. */
  logs(): Promise<VerboseLog[]>;
  /**
   * This client is content with a weight sync now. Only for a client that declared itself active when it ended an episode
   * of this batch. @throws EngineError `unclear` (500) where the collection method does not ask for agreement.
   */
  agreeSyncWeight(clientUuid: string, options?: CallOptions): Promise<AgreeAnswer>;
}

/** Every call throws `EngineError`; only `status` never throws, and says `ENGINE.CANNOT_CONNECT` instead. */
export interface Engine extends NewerEngine {
  /** The address that this client uses, without a trailing slash. */
  readonly url: string;
  /** Cached for 0.5 s and shared by everybody who asks meanwhile, as in the reference. */
  status(): Promise<EngineStatus>;
  /** A refusal is an answer with `success: false`. The base URL in a grant has this client's address. */
  claim(request: ClaimRequest, options?: CallOptions): Promise<ClaimAnswer>;
  /** Resolves when the engine says success. Takes up to 5 minutes. Never repeat one that is `unclear`: look first. */
  end(request: EndRequest, options?: CallOptions): Promise<void>;
  /**
   * The engine does not check who aborts: look first whether the episode is still this client's. May take 5 minutes
   * as well: give it less time where there is less.
   */
  abort(clientUuid: string, episodeUuid: string, options?: CallOptions): Promise<void>;
  /** True while the episode is claimed, by anybody, and the engine rolls. */
  canContinue(clientUuid: string, episodeUuid: string): Promise<boolean>;
  /** Base URLs have this client's address, as in a grant. */
  buffer(): Promise<EpisodeStatus[]>;
  pool(): Promise<PoolInformation>;
  syncConfig(yaml: string, options?: CallOptions): Promise<SyncAnswer>;
  start(options?: CallOptions): Promise<StartAnswer>;
  stop(options?: CallOptions): Promise<StopAnswer>;
}

/** How long the pool may lag behind the answer to an end: 12 s were seen, and a little more. */
export const POOL_LAG_MS = 15_000;
