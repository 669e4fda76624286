/** The protocol's calls, and how long each may take. */

/** Milliseconds that a call may take in all, retries included. Beside each: what asks for it. */
export const callTimeouts = {
  get_engine_status: 10_000, // reference
  get_current_batch_rollout_pool_information: 10_000, // reference
  can_continue_episode: 10_000, // reference
  get_episode_buffer: 10_000, // reference
  claim_episode: 30_000, // reference
  // The engine waits up to 300 s for the trainer; the reference gives up after 30 s and then knows nothing.
  end_episode: 330_000,
  abort_episode: 330_000,
  sync_train_config: 30_000, // reference
  start_engine: 600_000, // reference
  stop_engine: 600_000, // reference
  sync_train_code: 120_000, // megabytes, written to the engine's disk before it answers
  get_server_experiment_dir: 10_000, // as the other readings
  push_verbose_log: 10_000,
  get_verbose_logs: 10_000,
  agree_sync_weight: 30_000,
} as const satisfies Record<string, number>;

export type CallName = keyof typeof callTimeouts;

export type Timeouts = Readonly<Record<CallName, number>>;
