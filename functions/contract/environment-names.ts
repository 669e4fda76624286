/** Absent where nothing in front of the engine asks for a token. */
const engineAccess = {
  /** The secret in Secrets Manager that holds the token. */
  engineSecretArn: "SORTIE_ENGINE_SECRET_ARN",
  /** The header that carries it. */
  engineHeader: "SORTIE_ENGINE_HEADER",
} as const;

/**
 * The names of the environment variables of the functions. The constructs in `lib/` write them, `functions/environment`
 * reads them. Booleans are "true" or "false", durations are whole numbers in the unit that the name ends with.
 */
export const rolloutVariables = {
  /** The fleet's name: the first part of every client uuid, and the fleet's key in the table. */
  fleet: "SORTIE_FLEET",
  /** The engine's name: its key in the table. */
  engine: "SORTIE_ENGINE",
  engineUrl: "SORTIE_ENGINE_URL",
  ...engineAccess,
  table: "SORTIE_TABLE",
  queueUrl: "SORTIE_QUEUE_URL",
  deadLetterQueueUrl: "SORTIE_DEAD_LETTER_QUEUE_URL",
  maxAttempts: "SORTIE_MAX_ATTEMPTS",
  maxDiscards: "SORTIE_MAX_DISCARDS",
  /** JSON of `AgentVariable`. Absent: the agent is compiled in. */
  agent: "SORTIE_AGENT",
  discardTimeoutSeconds: "SORTIE_DISCARD_TIMEOUT_SECONDS",
  claimWaitSeconds: "SORTIE_CLAIM_WAIT_SECONDS",
  minEpisodeSeconds: "SORTIE_MIN_EPISODE_SECONDS",
  settleMarginSeconds: "SORTIE_SETTLE_MARGIN_SECONDS",
  allowUnusualRewards: "SORTIE_ALLOW_UNUSUAL_REWARDS",
  rolloutTtlDays: "SORTIE_ROLLOUT_TTL_DAYS",
  /** Absent: no grace, stragglers run to their deadline. */
  stragglerGraceSeconds: "SORTIE_STRAGGLER_GRACE_SECONDS",
  /** Episodes beyond the batch's need. Absent: rollouts start as long as the engine offers episodes. */
  spare: "SORTIE_SPARE",
  /** Rollouts that one invocation runs at once. Absent: it takes no messages beyond those of its event. */
  places: "SORTIE_PLACES",
  /** Deliveries after which SQS makes a dead letter of a message, and how long it keeps one. */
  maxReceiveCount: "SORTIE_MAX_RECEIVE_COUNT",
  messageRetentionDays: "SORTIE_MESSAGE_RETENTION_DAYS",
  /** How often a living invocation says so in the table. */
  heartbeatSeconds: "SORTIE_HEARTBEAT_SECONDS",
  /** An agent that blocks the event loop for so long is ended; not a setting. */
  agentBlockSeconds: "SORTIE_AGENT_BLOCK_SECONDS",
  /** Where conversations are kept: `s3://<bucket>`, or `file:///<folder>`. Absent: nowhere. */
  transcripts: "SORTIE_TRANSCRIPTS",
  /** Which: "failures", "all", or a share of the rollouts. */
  transcriptsKept: "SORTIE_TRANSCRIPTS_KEPT",
  /** JSON `{"ratio": number, "batchSize": number, "repeats": number}`. Absent: no throttle. */
  throttle: "SORTIE_THROTTLE",
} as const;

/** The lifecycle function's, one function per engine. */
export const lifecycleVariables = {
  engine: "SORTIE_ENGINE",
  engineUrl: "SORTIE_ENGINE_URL",
  ...engineAccess,
  table: "SORTIE_TABLE",
  /** JSON list of `FleetVariable`: the fleets on this engine. */
  fleets: "SORTIE_FLEETS",
  /** JSON list of names: fleets that were given up, whose open episodes are settled all the same. */
  retiredFleets: "SORTIE_RETIRED_FLEETS",
  snapshotTtlDays: "SORTIE_SNAPSHOT_TTL_DAYS",
  rolloutTtlDays: "SORTIE_ROLLOUT_TTL_DAYS",
  /** Between two sweeps of one tick, while episodes are open; 0 makes one sweep a tick. */
  sweepIntervalSeconds: "SORTIE_SWEEP_INTERVAL_SECONDS",
  /** Between two ticks. */
  scheduleMinutes: "SORTIE_SCHEDULE_MINUTES",
  startAttempts: "SORTIE_START_ATTEMPTS",
  startPauseSeconds: "SORTIE_START_PAUSE_SECONDS",
  bootMinutes: "SORTIE_BOOT_MINUTES",
  stalledMinutes: "SORTIE_STALLED_MINUTES",
  restartWhenStalled: "SORTIE_RESTART_WHEN_STALLED",
  /** JSON of `episodes`, `tasks` and `seconds`, at least one: when to agree to a weight sync. Absent: only by hand. */
  agreeAfter: "SORTIE_AGREE_AFTER",
  /** Looks in a row without an answer that make an alarm; not a setting. */
  unreachableAlarmTicks: "SORTIE_UNREACHABLE_ALARM_TICKS",
} as const;

/** Where an agent runs that is not compiled in. */
export type AgentVariable =
  | {
      readonly kind: "http";
      readonly urls: readonly string[];
      /** The secret in Secrets Manager and the header that carries it; both or none. */
      readonly secretArn?: string | undefined;
      readonly header?: string | undefined;
    }
  /** Name or ARN. */
  | { readonly kind: "lambda"; readonly functionName: string }
  | { readonly kind: "agentcore"; readonly arn: string; readonly qualifier?: string | undefined };

/** One entry of `lifecycleVariables.fleets`. */
export interface FleetVariable {
  readonly name: string;
  readonly queueUrl: string;
  readonly deadLetterQueueUrl: string;
  readonly maxAttempts: number;
  readonly budgetUsdPerDay?: number | undefined;
}
