/** The settings of a deployment: their meaning, bounds and defaults. `settings.ts` decodes them from CDK context. */
import { RetentionDays } from "aws-cdk-lib/aws-logs";
import * as z from "zod";
import { throttleSchema } from "../functions/contract/throttle-setting.ts";
import { transcriptsKept } from "../functions/contract/transcript-names.ts";
import { agentSetting } from "./agent-settings.ts";
import { type EngineSettings, engineSchema, engineUrl } from "./engine-settings.ts";
import { type NetworkSettings, networkSchema } from "./network-settings.ts";
import { arnOf, matching, moreThanZero, name, whole, yesOrNo } from "./schema-parts.ts";

const logRetentions = Object.values(RetentionDays).filter((days) => typeof days === "number");
/** Ten years: beyond that it is a typing error. */
const LONGEST_TTL_DAYS = 3650;

/** What a fleet can have; at the top level the same keys are the default of all fleets. */
export const fleetShape = {
  /** The engine's name. Default: `main`, or the only one. */
  engine: name,
  /**
   * The name of a shipped agent (`agents/<name>.ts`), or the path of a .ts or .js file that exports one as default; or where
   * an agent in any language runs: `{"http": …}`, `{"lambda": …}` or `{"agentcore": …}`, see docs/agents.md.
   */
  agent: agentSetting,
  /** How many episodes the fleet runs at once, at most. */
  maxEpisodes: whole(2, 1_000_000),
  /** How many of them one invocation runs at once, at most: they share its memory and its bill. */
  episodesPerInvocation: whole(1, 10_000, "SQS's limit of a batch"),
  /** Claimed tries at a rollout that may fail before it becomes a dead letter. */
  maxAttempts: whole(1, 100),
  /** How often a rollout's agent may give its episode back (`status_code` 409) before that uses up attempts too. */
  maxDiscards: whole(0, 1000),
  /** Seconds without a model call after which the engine takes an episode back; a message may say otherwise. */
  discardEpisodeTimeoutSeconds: whole(1, 86_400),
  /** The rollout function's time, s. */
  timeoutSeconds: whole(1, 900, "Lambda's limit"),
  /** The rollout function's memory, MB; its share of a processor grows with it. */
  memoryMb: whole(128, 10_240, "Lambda's limits"),
  /** How long an invocation waits for the engine before it defers its messages, s. */
  claimWaitSeconds: whole(0, 900),
  /** An episode's shortest useful time, s: with less time left, none is claimed. */
  minEpisodeSeconds: whole(1, 900),
  /** Time at the function's end that agents do not get, s: it settles what is still open. */
  settleMarginSeconds: whole(1, 300),
  /** Let an agent return null or a list as the reward of a train episode: today's trainer loses a slot over it. */
  allowUnusualRewards: yesOrNo,
  /** The fleet pauses when it is estimated to have spent so much since midnight (UTC). Absent: it spends what it takes. */
  budget: z.strictObject({ usdPerDay: moreThanZero }, { error: "expected {usdPerDay}" }).optional(),
  /** Concurrency that the account keeps for the fleet's function, and its bound. Absent: it shares the account's. */
  reservedConcurrency: whole(1, 1_000_000).optional(),
  /** How long SQS gathers messages for one invocation, s. */
  batchWindowSeconds: whole(0, 300, "SQS's limit"),
  /** Start only what the batch needs and so many episodes more, which are given up at its end. Absent: what the engine takes. */
  spare: whole(0, 1_000_000).optional(),
  /** Whether an invocation takes further messages itself while it has free places and enough time. */
  keepPlacesFull: yesOrNo,
  /** How long running episodes get once the engine has its samples, s. Absent: until their deadline. */
  stragglerGraceSeconds: whole(1, 900).optional(),
  /** Keep the conversations of attempts in a bucket: `none`, `failures`, `all`, or a share of the rollouts. */
  transcripts: transcriptsKept,
  /** `ratio × batchSize` bounds how many different tasks of the fleet are in the engine's batch. Absent: no bound. */
  throttle: throttleSchema.extend({ ratio: throttleSchema.shape.ratio.default(1.5) }).optional(),
} as const;

/** What the whole deployment shares. */
export const deploymentShape = {
  /** Keep table, queues and logs when the stack is destroyed; false for a throw-away stack. */
  retain: yesOrNo,
  logRetentionDays: z.number().refine((days) => logRetentions.includes(days), {
    error: `expected one of CloudWatch's periods (${logRetentions.join(", ")})`,
  }),
  /** How long snapshots stay in the table, days. */
  snapshotTtlDays: whole(1, LONGEST_TTL_DAYS),
  /** How long a rollout's item stays in the table after its last change, days. */
  rolloutTtlDays: whole(1, LONGEST_TTL_DAYS),
  /** How long transcripts stay in their bucket, days. */
  transcriptDays: whole(1, LONGEST_TTL_DAYS),
  /** Minutes between two ticks of the lifecycle function; above 1, a crash is settled within so many and two more. */
  scheduleMinutes: whole(1, 5),
  /** How long SQS keeps a message, days. */
  messageRetentionDays: whole(1, 14, "SQS's limit"),
  /** A message stays invisible for `timeoutSeconds` and this, s; at least 30 more than `batchWindowSeconds`, if there is one. */
  visibilityMarginSeconds: whole(1, 3600),
  /** Deliveries after which SQS itself makes a dead letter. High, because a deferral counts as one. */
  maxReceiveCount: whole(1, 1000, "SQS's limit"),
  /** The largest message that the queues take, bytes. */
  maxMessageBytes: whole(1024, 1_048_576, "SQS's limits"),
  /** Trace the functions' invocations with X-Ray. */
  tracing: yesOrNo,
  /** Alarm when the oldest message is older and the engine rolls, minutes. */
  oldestMessageMinutes: whole(5, 1440),
  /** Alarm when nothing left the queue for so long and the engine rolls, minutes. */
  noEndedEpisodeMinutes: whole(5, 1440),
  /** Failed starts in a row after which an engine is left alone. */
  startAttempts: whole(1, 100),
  /** Pause before the second start, s; doubles with each further one. */
  startPauseSeconds: whole(1, 3600),
  /** An engine that boots for longer is an alarm, minutes. */
  bootMinutes: whole(1, 1440),
  /** An engine without progress for so long, while work waits, is an alarm, minutes. */
  stalledMinutes: whole(5, 1440),
  /** Restart an engine that is stalled. */
  restartWhenStalled: yesOrNo,
} as const;

const stackName = matching(
  /^[A-Za-z][A-Za-z0-9-]{0,127}$/,
  "expected a letter, then up to 127 letters, digits and hyphens",
);
const fleetSchema = z.strictObject(fleetShape, { error: "expected an object of settings" });
const deploymentSchema = z.strictObject(deploymentShape);
const email = "expected an e-mail address";
const retired = "expected a list of names of fleets that are given up";
/** A function's environment holds 4 KB. */
const MOST_RETIRED = 5;

/** The settings of one fleet, complete. Keys are described at `fleetShape`. */
export type FleetSettings = z.infer<typeof fleetSchema>;
/** The settings that all fleets share, complete. Keys are described at `deploymentShape`. */
export type DeploymentSettings = z.infer<typeof deploymentSchema>;
export type { EngineSettings, NetworkSettings };

/** Settings as written: top level. */
export const settingsSchema = z
  .strictObject({
    ...fleetShape,
    ...deploymentShape,
    stackName,
    network: networkSchema,
    /** Where the alarms go: a topic that there is, or an address for which one is made. Absent: nowhere. */
    alarmTopicArn: arnOf("sns", /[\w-]+/, "alarms"),
    alarmEmail: z.email({ error: email }),
    /** Fleets of an earlier deployment that are given up on purpose; without this a deployment that lacks one fails. */
    retiredFleets: z.array(name, { error: retired }).max(MOST_RETIRED, {
      error: `expected at most ${MOST_RETIRED}; once its episodes are settled and a deployment has lacked it, a fleet need not be listed`,
    }),
    /** Short for `engines.main.url`. */
    engineUrl,
    engines: z.record(name, engineSchema, { error: "expected an object of engines by name" }),
    fleets: z
      .record(name, fleetSchema.partial(), { error: "expected an object of fleets by name" })
      .refine((fleets) => Object.keys(fleets).length > 0, { error: "expected at least one fleet" }),
  })
  .partial();
export type WrittenSettings = z.infer<typeof settingsSchema>;
/** These leave out what is not theirs. */
export const fleetPart = z.object(fleetShape).partial();
export const deploymentPart = z.object(deploymentShape).partial();

export const fleetDefaults: Omit<FleetSettings, "engine"> = {
  agent: "math",
  maxEpisodes: 50,
  episodesPerInvocation: 10,
  maxAttempts: 3,
  maxDiscards: 10,
  discardEpisodeTimeoutSeconds: 240,
  timeoutSeconds: 900,
  memoryMb: 512,
  claimWaitSeconds: 120,
  minEpisodeSeconds: 30,
  settleMarginSeconds: 20,
  allowUnusualRewards: false,
  batchWindowSeconds: 0,
  keepPlacesFull: true,
  transcripts: "none",
};

export const deploymentDefaults: DeploymentSettings = {
  retain: true,
  logRetentionDays: 30,
  snapshotTtlDays: 30,
  rolloutTtlDays: 30,
  transcriptDays: 14,
  scheduleMinutes: 1,
  messageRetentionDays: 14,
  visibilityMarginSeconds: 60,
  maxReceiveCount: 1000,
  maxMessageBytes: 1_048_576,
  tracing: false,
  oldestMessageMinutes: 60,
  noEndedEpisodeMinutes: 30,
  startAttempts: 3,
  startPauseSeconds: 60,
  bootMinutes: 30,
  stalledMinutes: 30,
  restartWhenStalled: false,
};
