import { join } from "node:path";
import {
  App,
  Duration,
  aws_dynamodb as dynamodb,
  aws_lambda as lambda,
  aws_logs as logs,
  Stack,
  aws_scheduler as scheduler,
  aws_sqs as sqs,
  aws_scheduler_targets as targets,
} from "aws-cdk-lib";
import { SqsEventSource, type SqsEventSourceProps } from "aws-cdk-lib/aws-lambda-event-sources";

/** The logical ids that the tests ask for. */
export interface Demo {
  readonly assemblyDir: string;
  readonly queue: string;
  readonly deadLetters: string;
  readonly table: string;
  readonly worker: string;
  readonly ticker: string;
}

export interface DemoOptions {
  readonly directory: string;
  /** A directory with `index.mjs`, which exports `worker` and `ticker`. */
  readonly code: string;
  /** Of the queue: 60 s by default. */
  readonly visibility?: Duration;
  /** Of the worker: 30 s by default. */
  readonly timeout?: Duration;
  readonly eventSource?: SqsEventSourceProps;
  readonly environment?: (stack: Stack) => Record<string, string>;
}

/** Synthesises a small app of the shape that Sortie's has, into `directory`. */
export function synthesise(options: DemoOptions): Demo {
  const assemblyDir = join(options.directory, "cdk.out");
  // Reports of the synthesis would only add noise to the tests' output.
  const app = new App({ outdir: assemblyDir, analyticsReporting: false });
  const stack = new Stack(app, "Demo");
  const deadLetters = new sqs.Queue(stack, "DeadLetters", { retentionPeriod: Duration.days(14) });
  const queue = new sqs.Queue(stack, "Queue", {
    visibilityTimeout: options.visibility ?? Duration.seconds(60),
    deadLetterQueue: { queue: deadLetters, maxReceiveCount: 2 },
    enforceSSL: true,
  });
  const table = tableOf(stack);
  const common = {
    runtime: lambda.Runtime.NODEJS_24_X,
    code: lambda.Code.fromAsset(options.code),
    environment: {
      TABLE: table.tableName,
      QUEUE: queue.queueUrl,
      ...options.environment?.(stack),
    },
    loggingFormat: lambda.LoggingFormat.JSON,
  };
  const worker = new lambda.Function(stack, "Worker", {
    ...common,
    handler: "index.worker",
    timeout: options.timeout ?? Duration.seconds(30),
    memorySize: 512,
    logGroup: new logs.LogGroup(stack, "WorkerLog"),
    applicationLogLevelV2: lambda.ApplicationLogLevel.WARN,
  });
  worker.addEventSource(
    new SqsEventSource(queue, {
      batchSize: 100,
      maxBatchingWindow: Duration.seconds(1),
      maxConcurrency: 4,
      reportBatchItemFailures: true,
      ...options.eventSource,
    }),
  );
  const ticker = new lambda.Function(stack, "Ticker", {
    ...common,
    handler: "index.ticker",
    reservedConcurrentExecutions: 1,
  });
  new scheduler.Schedule(stack, "Tick", {
    schedule: scheduler.ScheduleExpression.rate(Duration.minutes(2)),
    target: new targets.LambdaInvoke(ticker, {
      retryAttempts: 0,
      input: scheduler.ScheduleTargetInput.fromObject({ kind: "tick" }),
    }),
  });
  app.synth();
  const idOf = (construct: { node: { defaultChild?: unknown } }) =>
    stack.getLogicalId(construct.node.defaultChild as sqs.CfnQueue);
  return {
    assemblyDir,
    queue: idOf(queue),
    deadLetters: idOf(deadLetters),
    table: idOf(table),
    worker: idOf(worker),
    ticker: idOf(ticker),
  };
}

function tableOf(stack: Stack): dynamodb.TableV2 {
  const text = (name: string) => ({ name, type: dynamodb.AttributeType.STRING });
  return new dynamodb.TableV2(stack, "Table", {
    partitionKey: text("pk"),
    sortKey: text("sk"),
    timeToLiveAttribute: "ttl",
    globalSecondaryIndexes: [
      {
        indexName: "open",
        partitionKey: text("open"),
        sortKey: { name: "expires", type: dynamodb.AttributeType.NUMBER },
        projectionType: dynamodb.ProjectionType.INCLUDE,
        nonKeyAttributes: ["state"],
      },
    ],
  });
}
