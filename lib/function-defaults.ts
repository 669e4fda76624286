/** What the functions have in common: runtime, bundling, log group, and a role that starts out with its logs alone. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { Duration, RemovalPolicy } from "aws-cdk-lib";
import { Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import { Architecture, LoggingFormat, Runtime } from "aws-cdk-lib/aws-lambda";
import { type BundlingOptions, LogLevel, NodejsFunction, OutputFormat } from "aws-cdk-lib/aws-lambda-nodejs";
import { LogGroup, type RetentionDays } from "aws-cdk-lib/aws-logs";
import { Construct } from "constructs";
import { AGENT_SPECIFIER, packageRoot } from "../functions/entries.ts";

export interface SortieFunctionProps {
  readonly description: string;
  /** Absolute path of the file that exports `handler`. */
  readonly entry: string;
  /** Absolute path of the agent that is compiled in. */
  readonly agentEntry?: string;
  readonly environment: Record<string, string>;
  readonly timeoutSeconds: number;
  readonly memoryMb: number;
  readonly logRetentionDays: number;
  /** Keep the logs when the stack is destroyed. */
  readonly retain: boolean;
  readonly reservedConcurrentExecutions?: number;
}

/** One Lambda function with its role and log group. */
export class SortieFunction extends Construct {
  readonly function: NodejsFunction;
  readonly role: Role;
  readonly logGroup: LogGroup;

  constructor(scope: Construct, id: string, props: SortieFunctionProps) {
    super(scope, id);
    this.logGroup = new LogGroup(this, "Logs", {
      retention: props.logRetentionDays satisfies RetentionDays,
      removalPolicy: props.retain ? RemovalPolicy.RETAIN : RemovalPolicy.DESTROY,
    });
    this.role = new Role(this, "Role", { assumedBy: new ServicePrincipal("lambda.amazonaws.com") });
    this.logGroup.grantWrite(this.role);
    const reserved = props.reservedConcurrentExecutions;
    this.function = new NodejsFunction(this, "Function", {
      description: props.description,
      entry: props.entry,
      environment: { NODE_OPTIONS: "--enable-source-maps", ...props.environment },
      timeout: Duration.seconds(props.timeoutSeconds),
      memorySize: props.memoryMb,
      runtime: Runtime.NODEJS_24_X,
      architecture: Architecture.ARM_64,
      role: this.role,
      logGroup: this.logGroup,
      loggingFormat: LoggingFormat.JSON,
      awsSdkConnectionReuse: false,
      ...(reserved === undefined ? {} : { reservedConcurrentExecutions: reserved }),
      projectRoot: packageRoot,
      depsLockFilePath: lockFile(),
      bundling: bundling(props.agentEntry),
    });
  }
}

/** Only its folder matters here, and an installed package comes without its lock file. */
function lockFile(): string {
  const lock = join(packageRoot, "package-lock.json");
  return existsSync(lock) ? lock : join(packageRoot, "package.json");
}

function bundling(agentEntry: string | undefined): BundlingOptions {
  return {
    logLevel: LogLevel.WARNING,
    format: OutputFormat.ESM,
    target: "node24",
    minify: true,
    // The names of errors go into dead letters and logs.
    keepNames: true,
    sourceMap: true,
    sourcesContent: false,
    mainFields: ["module", "main"],
    bundleAwsSDK: true,
    // undici requires Node's own modules, which an ES module cannot.
    banner: "import{createRequire}from'node:module';const require=createRequire(import.meta.url);",
    ...(agentEntry === undefined ? {} : { esbuildArgs: { [`--alias:${AGENT_SPECIFIER}`]: agentEntry } }),
  };
}
