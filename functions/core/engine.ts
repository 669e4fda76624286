/** The port to an engine. The one implementation is `adapters/engine`. */
import type {
  ClaimAnswer,
  ClaimRequest,
  EndRequest,
  EngineStatus,
  EpisodeStatus,
  PoolInformation,
  StartAnswer,
  StopAnswer,
  SyncAnswer,
} from "./protocol.ts";

/** For the calls that change something: when to give up. The failure is then `unclear`, unless nothing was sent. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds; default: the call's own limit. */
  readonly timeoutMs?: number | undefined;
}

/** Every call throws `EngineError`; only `status` never throws, and says `ENGINE.CANNOT_CONNECT` instead. */
export interface Engine {
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
