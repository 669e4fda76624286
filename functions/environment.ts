/** The one reader of the environment: decoded once, by zod, every fault reported at once. */
import { createHash } from "node:crypto";
import * as z from "zod";
import { lifecycleVariables, rolloutVariables } from "./contract/environment-names.ts";
import { SettingsError } from "./contract/settings-error.ts";
import { throttleSchema } from "./contract/throttle-setting.ts";
import { transcriptsKept } from "./contract/transcript-names.ts";
import { fleetIdOf } from "./core/client-uuid.ts";
import { lifecycleDefaults } from "./core/engine-lifecycle/engine-state.ts";
import { SWEEP_INTERVAL_SECONDS } from "./core/housekeeping/tick.ts";
import type { FleetLimits } from "./core/rollout/context.ts";
import { HEARTBEAT_SECONDS } from "./core/rollout/heartbeat.ts";

/** Longer than an agent may well compute in one go where the processor is shared; its neighbours wait meanwhile. */
const AGENT_BLOCK_SECONDS = 20;

/** Where a deployment says nothing. */
const MAX_DISCARDS = 10;

const nonEmpty = z.string().min(1);
const whole = z.coerce.number().int().min(0);
const positive = z.coerce.number().positive();
const url = z.string().regex(/^https?:\/\/[^/]/, "expected an address that begins with http:// or https://");
const json = z.string().transform((text, context): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    context.addIssue("expected JSON");
    return z.NEVER;
  }
});
const flag = z.enum(["true", "false"]).transform((value) => value === "true");

/** Both or none: `engineToken` in `engine-credentials.ts` says so. */
const engineAccess = { engineSecretArn: nonEmpty.optional(), engineHeader: nonEmpty.optional() };

const agreeAfter = z
  .strictObject({
    episodes: whole.min(1).optional(),
    tasks: whole.min(1).optional(),
    seconds: positive.optional(),
  })
  .refine((rule) => Object.keys(rule).length > 0, "expected episodes, tasks or seconds");

/** `AgentVariable` of the contract. */
const agent = z.discriminatedUnion("kind", [
  z.strictObject({
    kind: z.literal("http"),
    urls: z.array(url).min(1),
    secretArn: nonEmpty.optional(),
    header: nonEmpty.optional(),
  }),
  z.strictObject({ kind: z.literal("lambda"), functionName: nonEmpty }),
  z.strictObject({ kind: z.literal("agentcore"), arn: nonEmpty, qualifier: nonEmpty.optional() }),
]);

const rolloutSchema = z.object({
  fleet: nonEmpty,
  engine: nonEmpty,
  engineUrl: url,
  ...engineAccess,
  table: nonEmpty,
  queueUrl: url,
  deadLetterQueueUrl: url,
  maxAttempts: whole.min(1),
  maxDiscards: whole.default(MAX_DISCARDS),
  agent: json.pipe(agent).optional(),
  discardTimeoutSeconds: positive,
  claimWaitSeconds: whole,
  minEpisodeSeconds: whole,
  settleMarginSeconds: whole,
  allowUnusualRewards: flag,
  rolloutTtlDays: positive,
  stragglerGraceSeconds: positive.optional(),
  spare: whole.optional(),
  places: whole.min(1).optional(),
  throttle: json.pipe(throttleSchema).optional(),
  transcripts: z
    .string()
    .regex(/^(s3|file):\/\//, "expected s3:// or file://")
    .optional(),
  transcriptsKept: z
    .string()
    .transform((text) => (/^[\d.]+$/.test(text) ? Number(text) : text))
    .pipe(transcriptsKept)
    .default("all"),
  heartbeatSeconds: positive.default(HEARTBEAT_SECONDS),
  agentBlockSeconds: positive.default(AGENT_BLOCK_SECONDS),
  maxReceiveCount: positive.default(1000),
  messageRetentionDays: positive.default(14),
});
export type RolloutEnvironment = z.infer<typeof rolloutSchema>;

const fleets = z.array(
  z.object({
    name: nonEmpty,
    queueUrl: url,
    deadLetterQueueUrl: url,
    maxAttempts: whole.min(1),
    budgetUsdPerDay: positive.optional(),
  }),
);
const lifecycleSchema = z.object({
  engine: nonEmpty,
  engineUrl: url,
  ...engineAccess,
  table: nonEmpty,
  fleets: json.pipe(fleets),
  retiredFleets: json.pipe(z.array(nonEmpty)).default([]),
  snapshotTtlDays: positive,
  rolloutTtlDays: positive,
  sweepIntervalSeconds: z.coerce.number().min(0).default(SWEEP_INTERVAL_SECONDS),
  scheduleMinutes: positive.default(1),
  startAttempts: whole.min(1).default(lifecycleDefaults.startAttempts),
  startPauseSeconds: positive.default(lifecycleDefaults.startPauseSeconds),
  bootMinutes: positive.default(lifecycleDefaults.bootMinutes),
  stalledMinutes: positive.default(lifecycleDefaults.stalledMinutes),
  restartWhenStalled: flag.default(lifecycleDefaults.restartWhenStalled),
  unreachableAlarmTicks: whole.min(1).default(lifecycleDefaults.unreachableAlarmTicks),
  agreeAfter: json.pipe(agreeAfter).optional(),
});
export type LifecycleEnvironment = z.infer<typeof lifecycleSchema>;

type Environment = Readonly<Record<string, string | undefined>>;

/** Throws `SettingsError`. */
export function readRolloutEnvironment(environment: Environment): RolloutEnvironment {
  return decode(rolloutSchema, rolloutVariables, environment);
}

/** Throws `SettingsError`. */
export function readLifecycleEnvironment(environment: Environment): LifecycleEnvironment {
  return decode(lifecycleSchema, lifecycleVariables, environment);
}

/** The variables by the names that the code uses; the faults name the variables themselves. */
function decode<Schema extends z.ZodType>(
  schema: Schema,
  variables: Readonly<Record<string, string>>,
  environment: Environment,
): z.infer<Schema> {
  const named = Object.fromEntries(
    Object.entries(variables).map(([name, variable]) => [name, environment[variable] || undefined]),
  );
  const decoded = schema.safeParse(named);
  if (decoded.success) return decoded.data;
  const faults = decoded.error.issues.map(({ path, message }) => {
    const [name = "", ...rest] = path.map(String);
    return `${[variables[name] ?? name, ...rest].join(".")}: ${message}`;
  });
  throw new SettingsError(faults, "the environment of this function is wrong");
}

export function fleetLimits(environment: RolloutEnvironment): FleetLimits {
  const fleetId = deployedFleetId(environment.fleet, environment.table);
  return { ...environment, fleetId, stragglerGraceSeconds: environment.stragglerGraceSeconds };
}

/** A table's name is unique in its account and region, and the hash of it fits a client uuid. */
export function deployedFleetId(fleet: string, table: string): string {
  return fleetIdOf(fleet, createHash("sha256").update(table).digest("hex").slice(0, 8));
}
