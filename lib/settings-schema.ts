/** The settings of a deployment: their meaning, bounds and defaults. `settings.ts` decodes them from CDK context. */
import { RetentionDays } from "aws-cdk-lib/aws-logs";
import * as z from "zod";

/** `why` names the one who sets the bounds, where that is not Sortie. */
function whole(least: number, most: number, why = "") {
  const error = `expected a whole number from ${least} to ${most}${why && ` (${why})`}`;
  return z.number({ error }).int({ error }).min(least, { error }).max(most, { error });
}
function atLeast(least: number) {
  const error = `expected a number of at least ${least}`;
  return z.number({ error }).min(least, { error });
}
const yesOrNo = z.boolean({ error: "expected true or false" });
function matching(pattern: RegExp, error: string) {
  return z.string({ error }).regex(pattern, { error });
}

const name = matching(
  /^[a-z0-9-]{1,32}$/,
  "expected a name of 1 to 32 characters from a-z, 0-9 and -; rename it",
);
const logRetentions = Object.values(RetentionDays).filter((days) => typeof days === "number");
/** Ten years: beyond that it is a typing error. */
const LONGEST_TTL_DAYS = 3650;

/** What a fleet can have; at the top level the same keys are the default of all fleets. */
export const fleetShape = {
  /** The engine's name. Default: `main`, or the only one. */
  engine: name,
  /** The name of a shipped agent (`agents/<name>.ts`), or the path of a .ts or .js file that exports one as default. */
  agent: z.string({ error: "expected an agent's name or the path of its file" }).min(1, {
    error: "expected an agent's name or the path of its file",
  }),
  /** How many episodes the fleet runs at once, at most. */
  maxEpisodes: whole(2, 1_000_000),
  /** How many of them one invocation runs at once, at most: they share its memory and its bill. */
  episodesPerInvocation: whole(1, 10_000, "SQS's limit of a batch"),
  /** Claimed tries at a rollout that may fail before it becomes a dead letter. */
  maxAttempts: whole(1, 100),
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
  /** How long SQS gathers messages for one invocation, s. */
  batchWindowSeconds: whole(0, 300, "SQS's limit"),
  /** How long running episodes get once the engine has its samples, s. Absent: until their deadline. */
  stragglerGraceSeconds: whole(1, 900).optional(),
  /** `ratio × batchSize` bounds how many different tasks of the fleet are in the engine's batch. Absent: no bound. */
  throttle: z
    .strictObject(
      { ratio: atLeast(0).default(1.5), batchSize: whole(1, 1_000_000), repeats: whole(1, 1_000_000) },
      { error: "expected {batchSize, repeats} and perhaps ratio" },
    )
    .optional(),
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
  /** Minutes between two ticks of the lifecycle function. */
  scheduleMinutes: whole(1, 60),
  /** How long SQS keeps a message, days. */
  messageRetentionDays: whole(1, 14, "SQS's limit"),
  /** A message stays invisible for `timeoutSeconds` and this, s. */
  visibilityMarginSeconds: whole(1, 3600),
  /** Deliveries after which SQS itself makes a dead letter. High, because a deferral counts as one. */
  maxReceiveCount: whole(1, 1000, "SQS's limit"),
} as const;

const stackName = matching(
  /^[A-Za-z][A-Za-z0-9-]{0,127}$/,
  "expected a letter, then up to 127 letters, digits and hyphens",
);
const engineUrl = z
  .url({ protocol: /^https?$/, error: "expected a URL such as http://10.0.0.7:10086" })
  .refine((url) => !URL.canParse(url) || new URL(url).username === "", {
    error: "expected a URL without a user name or password, which everybody could read in the template",
  });

const fleetSchema = z.strictObject(fleetShape, { error: "expected an object of settings" });
const deploymentSchema = z.strictObject(deploymentShape);
const engineSchema = z.strictObject({ url: engineUrl }, { error: 'expected {"url": "http://…"}' });

/** The settings of one fleet, complete. Keys are described at `fleetShape`. */
export type FleetSettings = z.infer<typeof fleetSchema>;
/** The settings that all fleets share, complete. Keys are described at `deploymentShape`. */
export type DeploymentSettings = z.infer<typeof deploymentSchema>;
export interface EngineSettings {
  /** Where the functions reach the engine. */
  readonly url: string;
}

/** Settings as written: top level. */
export const settingsSchema = z
  .strictObject({
    ...fleetShape,
    ...deploymentShape,
    stackName,
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
  discardEpisodeTimeoutSeconds: 240,
  timeoutSeconds: 900,
  memoryMb: 512,
  claimWaitSeconds: 120,
  minEpisodeSeconds: 30,
  settleMarginSeconds: 20,
  allowUnusualRewards: false,
  batchWindowSeconds: 0,
};

export const deploymentDefaults: DeploymentSettings = {
  retain: true,
  logRetentionDays: 30,
  snapshotTtlDays: 30,
  rolloutTtlDays: 30,
  scheduleMinutes: 1,
  messageRetentionDays: 14,
  visibilityMarginSeconds: 60,
  maxReceiveCount: 1000,
};
