/** What the functions have in common: runtime, bundling, log group, and a role that starts out with its logs alone. */
import { existsSync } from "node:fs";
import { extname, join } from "node:path";
import { Duration, Stack, Validations } from "aws-cdk-lib";
import { Effect, Policy, PolicyStatement, Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import { Architecture, LoggingFormat, Runtime, Tracing } from "aws-cdk-lib/aws-lambda";
import { type BundlingOptions, LogLevel, NodejsFunction, OutputFormat } from "aws-cdk-lib/aws-lambda-nodejs";
import { LogGroup, type RetentionDays } from "aws-cdk-lib/aws-logs";
import { Construct } from "constructs";
import { AGENT_SPECIFIER, packageRoot } from "../functions/entries.ts";
import type { Network } from "./network.ts";
import { retention } from "./retention.ts";

export interface SortieFunctionProps {
  readonly description: string;
  /** Absolute path of the file that exports `handler`. */
  readonly entry: string;
  /** Modules that are compiled in by a name of the project's: absolute paths by `#name`. */
  readonly modules?: Readonly<Record<string, string>>;
  readonly environment: Record<string, string>;
  readonly timeoutSeconds: number;
  readonly memoryMb: number;
  readonly logRetentionDays: number;
  /** Keep the logs when the stack is destroyed. */
  readonly retain: boolean;
  readonly reservedConcurrentExecutions?: number;
  /** Files that go beside the code, absolute paths by name. */
  readonly files?: Readonly<Record<string, string>>;
  /** Absent: the function runs outside of any network of the user's. */
  readonly network?: Network | undefined;
  /** Trace with X-Ray. Default: false. */
  readonly tracing?: boolean;
}

/** What Lambda does in the network in the function's name; EC2 knows no narrower resource for it. */
const networkActions = [
  "ec2:AssignPrivateIpAddresses",
  "ec2:CreateNetworkInterface",
  "ec2:DeleteNetworkInterface",
  "ec2:DescribeNetworkInterfaces",
  "ec2:DescribeSubnets",
  "ec2:UnassignPrivateIpAddresses",
];

/** One Lambda function with its role and log group. */
export class SortieFunction extends Construct {
  readonly function: NodejsFunction;
  readonly role: Role;
  readonly logGroup: LogGroup;

  constructor(scope: Construct, id: string, props: SortieFunctionProps) {
    super(scope, id);
    this.logGroup = new LogGroup(this, "Logs", {
      retention: props.logRetentionDays satisfies RetentionDays,
      removalPolicy: retention(props.retain),
    });
    this.role = new Role(this, "Role", { assumedBy: new ServicePrincipal("lambda.amazonaws.com") });
    this.logGroup.grantWrite(this.role);
    const { network } = props;
    if (network) this.allowNetwork();
    if (props.tracing) this.acknowledgeTracing();
    const reserved = props.reservedConcurrentExecutions;
    this.function = new NodejsFunction(this, "Function", {
      description: props.description,
      entry: props.entry,
      environment: {
        NODE_OPTIONS: "--enable-source-maps",
        // A dimension of every metric: two deployments in one account may have fleets of one name.
        POWERTOOLS_SERVICE_NAME: Stack.of(this).stackName,
        ...props.environment,
      },
      timeout: Duration.seconds(props.timeoutSeconds),
      memorySize: props.memoryMb,
      runtime: Runtime.NODEJS_24_X,
      architecture: Architecture.ARM_64,
      role: this.role,
      logGroup: this.logGroup,
      loggingFormat: LoggingFormat.JSON,
      awsSdkConnectionReuse: false,
      tracing: props.tracing ? Tracing.ACTIVE : Tracing.DISABLED,
      ...(network && {
        vpc: network.vpc,
        vpcSubnets: { subnets: network.subnets },
        securityGroups: network.securityGroups,
      }),
      ...(reserved === undefined ? {} : { reservedConcurrentExecutions: reserved }),
      projectRoot: packageRoot,
      depsLockFilePath: lockFile(),
      bundling: bundling(props.modules ?? {}, props.files ?? {}),
    });
    if (network) this.denyNetworkToCode();
  }

  private allowNetwork(): void {
    this.role.addToPolicy(new PolicyStatement({ actions: networkActions, resources: ["*"] }));
    Validations.of(this.role).acknowledge({
      id: "AwsSolutions-IAM5[Resource::*]",
      reason:
        "Lambda attaches the function to the VPC by these, on interfaces that do not exist yet; code is denied them",
    });
  }

  /** Only Lambda itself needs them. A policy apart, since the role's own must stand before the function. */
  private denyNetworkToCode(): void {
    const deny = new PolicyStatement({
      effect: Effect.DENY,
      actions: networkActions,
      resources: ["*"],
      conditions: { ArnEquals: { "lambda:SourceFunctionArn": this.function.functionArn } },
    });
    new Policy(this, "NoNetworkForCode", { roles: [this.role], statements: [deny] });
  }

  private acknowledgeTracing(): void {
    Validations.of(this.role).acknowledge({
      id: "AwsSolutions-IAM5[Resource::*]",
      reason: "X-Ray's actions to send traces know no resource",
    });
  }
}

/** Only its folder matters here, and an installed package comes without its lock file. */
function lockFile(): string {
  const lock = join(packageRoot, "package-lock.json");
  return existsSync(lock) ? lock : join(packageRoot, "package.json");
}

function bundling(
  modules: Readonly<Record<string, string>>,
  files: Readonly<Record<string, string>>,
): BundlingOptions {
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
    banner,
    // What is in it is refused by name, see `finish-bundle.ts`.
    metafile: true,
    loader: { ".node": "empty" },
    commandHooks: {
      beforeInstall: () => [],
      beforeBundling: () => [],
      afterBundling: (_, outputDir) => [
        ...Object.entries(files).map(
          ([name, path]) => `cp -R ${quoted(path)} ${quoted(join(outputDir, name))}`,
        ),
        command([process.execPath, finisher, outputDir, packageRoot, modules[AGENT_SPECIFIER] ?? ""]),
      ],
    },
    esbuildArgs: Object.fromEntries(Object.entries(modules).map(([name, path]) => [`--alias:${name}`, path])),
  };
}

/** undici and CommonJS packages require Node's own modules and know their folder, which an ES module cannot. */
const banner = [
  "import{createRequire}from'node:module';const require=createRequire(import.meta.url);",
  "globalThis.__dirname??=import.meta.dirname;globalThis.__filename??=import.meta.filename;",
].join("");

/** TypeScript here, JavaScript in an installed package. */
const finisher = join(import.meta.dirname, `finish-bundle${extname(import.meta.filename)}`);

function command(parts: readonly string[]): string {
  return parts.map(quoted).join(" ");
}

/** For a POSIX shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
