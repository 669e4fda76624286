/** What can be set of the stand-in engine. Times are seconds, as on the wire. */
import { availableParallelism } from "node:os";
import type { ChatMessage, ChatRequest } from "../../functions/contract/agent.ts";
import type { Clock, Random } from "../../functions/core/clock.ts";
import type { Faults } from "./faults.ts";

export const collectionMethods = [
  "rollout_until_finish_enough_tasks",
  "rollout_until_finish_enough_episodes",
  "rollout_until_finish_enough_non_dummy_tasks",
  "rollout_until_any_client_agree_sync_weight",
  "rollout_until_all_clients_agree_sync_weight",
] as const;
/** When a batch has enough samples: the training config's `ajet.swarm_mode_sample_collection_method`. */
export type CollectionMethod = (typeof collectionMethods)[number];

/** Two published versions of the server; what differs is in docs/compatibility.md. */
export const engineVersions = ["newer", "older"] as const;
export type EngineVersion = (typeof engineVersions)[number];

export interface EngineConfig {
  readonly engineVersion: EngineVersion;
  readonly batchTasks: number;
  readonly repeats: number;
  /** Episodes that stand ready or run at once; by default one for each sample of a batch. */
  readonly slots: number | undefined;
  readonly collectionMethod: CollectionMethod;
  readonly bootSeconds: number;
  /** From the beginning of ROLLING until episodes can be claimed. */
  readonly registerSeconds: number;
  /** From the end of an episode until its slot offers the next one. */
  readonly nextSlotSeconds: number;
  readonly syncSeconds: number;
  /** The trainer's delay before it acknowledges an output or a reset. */
  readonly ackSeconds: number;
  /** How often an end or abort that waits for the trainer looks whether the engine still rolls. */
  readonly statusPollSeconds: number;
  /** From an ended episode until the pool shows it; at most `reportSeconds`. */
  readonly poolLagSeconds: number;
  /** The trainer reports its pool at least this often while it rolls. */
  readonly reportSeconds: number;
  /** How often claimed episodes without activity are looked for. */
  readonly discardCheckSeconds: number;
  /** How long a model call takes; the model's own `seconds` come first. */
  readonly modelSeconds: (random: Random) => number;
  /**
   * Steps after which the training ends and the engine goes OFFLINE; by default never. The training config's
   * `ajet.trainer_common.total_training_steps` comes first.
   */
  readonly totalSteps: number | undefined;
  /** Boots at once, as if somebody had synced a config and started it. */
  readonly startRolling: boolean;
  /** Of the model route, see the protocol's "Model calls"; by default that of `engineVersion`. */
  readonly chatRoute: EngineVersion;
  readonly modelName: string;
  /** A longer prompt gets an ordinary answer with finish reason `length` (newer), or a 500 (older); by default never. */
  readonly contextTokens: number | undefined;
  /**
   * Whether the process that launched the trainer lives: it posts OFFLINE with step 0 whenever the trainer is gone, for
   * whatever reason. Without it the status stays as it was.
   */
  readonly launcher: boolean;
  /** From the trainer's death until the launcher's post. */
  readonly launcherSeconds: number;
  /** An end or abort that the trainer has not acknowledged after so long is answered as a success. */
  readonly unacknowledgedSeconds: number;
  /** Share of readings of the pool that fail in the server: every field at its default; the buffer then answers 500. */
  readonly unreadablePools: number;
  /** Ends and aborts that can wait for the trainer at once: the real one's thread pool, by its machine's cores. */
  readonly waitingThreads: number;
  /** A kept-alive connection that is idle for this long is closed, in real seconds: uvicorn's 5. */
  readonly idleConnectionSeconds: number;
  /** Keeps each model call's request in the ledger; costs memory. */
  readonly keepModelRequests: boolean;
}

/** Python's default for `asyncio.to_thread`. */
export function threadsFor(cores: number): number {
  return Math.min(32, cores + 4);
}

export const defaultConfig: EngineConfig = {
  engineVersion: "newer",
  batchTasks: 8,
  repeats: 4,
  slots: undefined,
  collectionMethod: "rollout_until_finish_enough_tasks",
  bootSeconds: 3,
  registerSeconds: 1,
  nextSlotSeconds: 0.25,
  syncSeconds: 3,
  ackSeconds: 0,
  statusPollSeconds: 2,
  poolLagSeconds: 0.25,
  reportSeconds: 12,
  discardCheckSeconds: 10,
  modelSeconds: () => 0,
  totalSteps: undefined,
  startRolling: true,
  chatRoute: "newer",
  modelName: "stand-in",
  contextTokens: undefined,
  launcher: true,
  launcherSeconds: 1,
  unacknowledgedSeconds: 300,
  unreadablePools: 0,
  waitingThreads: threadsFor(availableParallelism()),
  idleConnectionSeconds: 5,
  keepModelRequests: false,
};

/** What is set, and the defaults for the rest. */
export function wholeConfig(given: Partial<EngineConfig> = {}): EngineConfig {
  const version = given.engineVersion ?? defaultConfig.engineVersion;
  return { ...defaultConfig, ...given, engineVersion: version, chatRoute: given.chatRoute ?? version };
}

export interface ModelCallContext {
  readonly globalStep: number;
  readonly episodeUuid: string;
  /** 0 for the first call since the episode was registered or taken back. */
  readonly callIndex: number;
  /** Seeded by the engine's seed, the episode and the call. */
  readonly random: Random;
}
export interface ModelReply {
  readonly message: ChatMessage;
  readonly usage?: { readonly prompt_tokens: number; readonly completion_tokens: number };
  /** How long this call takes, in place of `modelSeconds`. */
  readonly seconds?: number;
  /** Default: `tool_calls` or `stop`. */
  readonly finishReason?: "length";
}
/** The model under training. */
export type EngineModel = (
  request: ChatRequest,
  context: ModelCallContext,
) => ModelReply | Promise<ModelReply>;

export interface EngineOptions {
  readonly clock: Clock;
  readonly seed: number;
  readonly model: EngineModel;
  /** Default: 127.0.0.1. */
  readonly host?: string;
  /** Default: 0, any free port. It stays the same over restarts. */
  readonly port?: number;
  readonly config?: Partial<EngineConfig>;
  readonly faults?: Faults;
}
