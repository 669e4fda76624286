import { devNull } from "node:os";
import { credentials, region } from "../region.ts";

/** What a function's process is told about itself and about the servers to use. */
export interface EnvironmentFacts {
  readonly name: string;
  readonly handler: string;
  readonly codeDirectory: string;
  readonly memoryMb: number;
  /** `host:port` of the process's runtime API. */
  readonly runtimeApi: string;
  /** The function's own variables. */
  readonly environment: Readonly<Record<string, string>>;
  readonly logFormat?: string | undefined;
  readonly logLevel?: string | undefined;
}

/**
 * The whole environment of a function's process: the function's variables, and over them those that Lambda reserves
 * (https://docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html). Of the user's own environment only `PATH`
 * passes, so that neither credentials nor `NODE_OPTIONS` leak into a local run.
 */
export function processEnvironment(facts: EnvironmentFacts): Record<string, string> {
  const { PATH } = process.env;
  return {
    ...(PATH === undefined ? {} : { PATH }),
    LANG: "en_US.UTF-8",
    TZ: ":UTC",
    // The SDK would otherwise read the user's own profiles.
    AWS_CONFIG_FILE: devNull,
    AWS_SHARED_CREDENTIALS_FILE: devNull,
    ...facts.environment,
    ...reserved(facts),
  };
}

function reserved(facts: EnvironmentFacts): Record<string, string> {
  return {
    AWS_ACCESS_KEY_ID: credentials.accessKeyId,
    AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
    AWS_SESSION_TOKEN: credentials.sessionToken,
    AWS_REGION: region,
    AWS_DEFAULT_REGION: region,
    AWS_EXECUTION_ENV: "AWS_Lambda_nodejs24.x",
    AWS_LAMBDA_FUNCTION_NAME: facts.name,
    AWS_LAMBDA_FUNCTION_VERSION: "$LATEST",
    AWS_LAMBDA_FUNCTION_MEMORY_SIZE: String(facts.memoryMb),
    AWS_LAMBDA_INITIALIZATION_TYPE: "on-demand",
    AWS_LAMBDA_LOG_GROUP_NAME: `/aws/lambda/${facts.name}`,
    AWS_LAMBDA_LOG_STREAM_NAME: "local",
    AWS_LAMBDA_LOG_FORMAT: facts.logFormat ?? "Text",
    ...(facts.logLevel === undefined ? {} : { AWS_LAMBDA_LOG_LEVEL: facts.logLevel }),
    AWS_LAMBDA_RUNTIME_API: facts.runtimeApi,
    LAMBDA_TASK_ROOT: facts.codeDirectory,
    _HANDLER: facts.handler,
  };
}
