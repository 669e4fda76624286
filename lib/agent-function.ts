/** The Lambda function of a fleet's agent, made of the user's folder or image: its role opens its own logs, nothing else. */
import { resolve } from "node:path";
import { Duration, Validations } from "aws-cdk-lib";
import { Repository } from "aws-cdk-lib/aws-ecr";
import { Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import {
  Architecture,
  type CfnFunction,
  Code,
  Handler,
  Function as LambdaFunction,
  LoggingFormat,
  Runtime,
} from "aws-cdk-lib/aws-lambda";
import { LogGroup, type RetentionDays } from "aws-cdk-lib/aws-logs";
import { Construct } from "constructs";
import type { LambdaAgent } from "./agent-settings.ts";
import { retention } from "./retention.ts";

export interface AgentFunctionProps {
  readonly agent: LambdaAgent;
  readonly fleetName: string;
  /** The rollout function's, s. */
  readonly timeoutSeconds: number;
  readonly logRetentionDays: number;
  readonly retain: boolean;
}

const DEFAULT_RUNTIME = "python3.13";
const DEFAULT_MEMORY_MB = 512;

export class AgentFunction extends Construct {
  readonly function: LambdaFunction;
  readonly role: Role;

  constructor(scope: Construct, id: string, props: AgentFunctionProps) {
    super(scope, id);
    const { agent, fleetName, timeoutSeconds } = props;
    const logGroup = new LogGroup(this, "Logs", {
      retention: props.logRetentionDays satisfies RetentionDays,
      removalPolicy: retention(props.retain),
    });
    this.role = new Role(this, "Role", { assumedBy: new ServicePrincipal("lambda.amazonaws.com") });
    logGroup.grantWrite(this.role);
    this.function = new LambdaFunction(this, "Function", {
      description: `Sortie: the agent of fleet ${fleetName}`,
      ...this.codeOf(agent),
      timeout: Duration.seconds(agent.timeoutSeconds ?? timeoutSeconds),
      memorySize: agent.memoryMb ?? DEFAULT_MEMORY_MB,
      architecture: Architecture.ARM_64,
      role: this.role,
      logGroup,
      loggingFormat: LoggingFormat.JSON,
      // Asked once for each attempt: what it makes of that is for Sortie to see.
      retryAttempts: 0,
    });
    Validations.of(this.function.node.defaultChild as CfnFunction).acknowledge({
      id: "AwsSolutions-L1",
      reason: "the runtime is the user's choice",
    });
  }

  private codeOf({ folder, handler = "", runtime, imageUri }: LambdaAgent) {
    if (folder !== undefined)
      return {
        code: Code.fromAsset(resolve(folder)),
        handler,
        runtime: new Runtime(runtime ?? DEFAULT_RUNTIME),
      };
    const [, account = "", region = "", repository = "", tagOrDigest = ""] =
      /^(\d{12})\.dkr\.ecr\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?\/([\w./-]+?)(?::|@)(.+)$/.exec(
        imageUri ?? "",
      ) ?? [];
    const from = Repository.fromRepositoryAttributes(this, "Repository", {
      repositoryName: repository,
      repositoryArn: `arn:aws:ecr:${region}:${account}:repository/${repository}`,
    });
    return {
      code: Code.fromEcrImage(from, { tagOrDigest }),
      handler: Handler.FROM_IMAGE,
      runtime: Runtime.FROM_IMAGE,
    };
  }
}
