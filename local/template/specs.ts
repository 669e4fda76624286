import * as z from "zod";

/**
 * Properties of the CloudFormation resources that a local run needs, decoded into what the code here calls them.
 * Defaults are CloudFormation's.
 */

const redriveSchema = z.object({
  deadLetterTargetArn: z.string(),
  maxReceiveCount: z.coerce.number(),
});

export const queueSchema = z
  .object({
    VisibilityTimeout: z.coerce.number().default(30),
    MessageRetentionPeriod: z.coerce.number().default(345_600),
    DelaySeconds: z.coerce.number().default(0),
    ReceiveMessageWaitTimeSeconds: z.coerce.number().default(0),
    RedrivePolicy: redriveSchema.optional(),
  })
  .transform((queue) => ({
    visibilitySeconds: queue.VisibilityTimeout,
    retentionSeconds: queue.MessageRetentionPeriod,
    delaySeconds: queue.DelaySeconds,
    waitSeconds: queue.ReceiveMessageWaitTimeSeconds,
    redrive: queue.RedrivePolicy && {
      targetArn: queue.RedrivePolicy.deadLetterTargetArn,
      maxReceiveCount: queue.RedrivePolicy.maxReceiveCount,
    },
  }));
export type QueueSpec = z.output<typeof queueSchema> & { readonly name: string };

const keySchema = z.array(z.object({ AttributeName: z.string(), KeyType: z.enum(["HASH", "RANGE"]) }));
const indexSchema = z.object({
  IndexName: z.string(),
  KeySchema: keySchema,
  Projection: z.object({
    ProjectionType: z.enum(["ALL", "INCLUDE", "KEYS_ONLY"]).default("ALL"),
    NonKeyAttributes: z.array(z.string()).optional(),
  }),
});

export const tableSchema = z
  .object({
    KeySchema: keySchema,
    AttributeDefinitions: z.array(
      z.object({ AttributeName: z.string(), AttributeType: z.enum(["S", "N", "B"]) }),
    ),
    GlobalSecondaryIndexes: z.array(indexSchema).default([]),
  })
  .transform((table) => ({
    keys: table.KeySchema,
    attributes: table.AttributeDefinitions,
    indexes: table.GlobalSecondaryIndexes,
  }));
export type TableSpec = z.output<typeof tableSchema> & { readonly name: string };

const scalarSchema = z.union([z.string(), z.number(), z.boolean()]).transform(String);

export const functionSchema = z
  .object({
    Runtime: z.string().regex(/^(nodejs|python)/, "expected a runtime of Node.js or Python"),
    Handler: z.string(),
    Code: z.object({ S3Key: z.string() }),
    MemorySize: z.coerce.number().default(128),
    Timeout: z.coerce.number().default(3),
    ReservedConcurrentExecutions: z.coerce.number().optional(),
    Environment: z.object({ Variables: z.record(z.string(), scalarSchema) }).default({ Variables: {} }),
    LoggingConfig: z
      .object({ LogFormat: z.string().optional(), ApplicationLogLevel: z.string().optional() })
      .default({}),
  })
  .transform((lambda) => ({
    runtime: lambda.Runtime,
    handler: lambda.Handler,
    codeKey: lambda.Code.S3Key,
    memoryMb: lambda.MemorySize,
    timeoutMs: lambda.Timeout * 1000,
    reservedConcurrency: lambda.ReservedConcurrentExecutions,
    environment: lambda.Environment.Variables,
    logFormat: lambda.LoggingConfig.LogFormat,
    logLevel: lambda.LoggingConfig.ApplicationLogLevel,
  }));
export type FunctionSpec = Omit<z.output<typeof functionSchema>, "codeKey"> & {
  readonly id: string;
  readonly name: string;
  readonly codeDirectory: string;
};

/** With Lambda's own limits, some of which only a deployment would meet. */
export const eventSourceSchema = z
  .object({
    EventSourceArn: z.string(),
    FunctionName: z.string(),
    Enabled: z.boolean().default(true),
    BatchSize: z.coerce.number().min(1).max(10_000).default(10),
    MaximumBatchingWindowInSeconds: z.coerce.number().min(0).max(300).default(0),
    ScalingConfig: z
      .object({ MaximumConcurrency: z.coerce.number().min(2).max(1000).default(1000) })
      .prefault({}),
    FunctionResponseTypes: z.array(z.string()).default([]),
  })
  .refine((source) => source.BatchSize <= 10 || source.MaximumBatchingWindowInSeconds >= 1, {
    path: ["MaximumBatchingWindowInSeconds"],
    message: "expected at least 1 s with a batch size above 10, found 0",
  })
  .transform((source) => ({
    queueArn: source.EventSourceArn,
    function: source.FunctionName,
    enabled: source.Enabled,
    batchSize: source.BatchSize,
    windowSeconds: source.MaximumBatchingWindowInSeconds,
    maximumConcurrency: source.ScalingConfig.MaximumConcurrency,
    partialResponses: source.FunctionResponseTypes.includes("ReportBatchItemFailures"),
  }));
export type EventSourceSpec = Omit<z.output<typeof eventSourceSchema>, "queueArn"> & {
  readonly id: string;
  /** Logical id of the queue. */
  readonly queue: string;
};

const unitMs = { minute: 60_000, hour: 3_600_000, day: 86_400_000 } as const;

const rateSchema = z.string().transform((expression, context) => {
  const [, count, unit] = /^rate\((\d+) (minute|hour|day)s?\)$/.exec(expression) ?? [];
  if (count !== undefined && unit !== undefined) return Number(count) * unitMs[unit as keyof typeof unitMs];
  context.addIssue({ code: "custom", message: `expected a rate, as rate(1 minute), found ${expression}` });
  return z.NEVER;
});

export const scheduleSchema = z
  .object({
    ScheduleExpression: rateSchema,
    State: z.string().default("ENABLED"),
    Target: z.object({ Arn: z.string(), Input: z.string().optional() }),
  })
  .transform((schedule) => ({
    periodMs: schedule.ScheduleExpression,
    enabled: schedule.State === "ENABLED",
    function: schedule.Target.Arn,
    input: schedule.Target.Input,
  }));
export type ScheduleSpec = z.output<typeof scheduleSchema> & { readonly id: string };
