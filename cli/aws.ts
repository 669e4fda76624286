/** AWS clients for a command: short limits, quiet, and each error remembers which call it came from. */
import { CloudFormationClient } from "@aws-sdk/client-cloudformation";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { LambdaClient } from "@aws-sdk/client-lambda";
import type { S3Client } from "@aws-sdk/client-s3";
import { SQSClient } from "@aws-sdk/client-sqs";

export interface AwsOptions {
  readonly region?: string;
  readonly profile?: string;
  /** Another address for every service. */
  readonly endpointUrl?: string;
}

/** The servers of a run on this machine. */
interface LocalServers {
  readonly region: string;
  readonly endpoints: { readonly sqs: string; readonly dynamodb: string };
}

export interface Aws {
  readonly dynamodb: DynamoDBClient;
  readonly sqs: SQSClient;
  /** Sends each request once: for what must not happen twice, where a lost answer leaves open whether it did. */
  readonly sqsOnce: SQSClient;
  readonly cloudformation: CloudFormationClient;
  readonly lambda: LambdaClient;
  /** Few commands need it, and its library is a large one. */
  readonly s3: () => Promise<S3Client>;
  destroy(): void;
}

/** Which call an error came from, as IAM names it: `dynamodb` and `GetItem`. */
export interface Call {
  readonly service: "DynamoDB" | "SQS" | "CloudFormation" | "Lambda" | "S3";
  readonly action: string;
}
const calls = new WeakMap<object, Call>();

export function callOf(error: object): Call | undefined {
  return calls.get(error);
}

export function createAws(options: AwsOptions, local?: LocalServers): Aws {
  // The SDK's chain of credential sources, SSO and roles included, starts from this variable.
  if (options.profile !== undefined && local === undefined) process.env["AWS_PROFILE"] = options.profile;
  const shared = { ...common, ...(local ? localAccess(local) : access(options)) };
  const at = (endpoint: string | undefined) => (endpoint === undefined ? {} : { endpoint });
  const dynamodb = new DynamoDBClient({ ...shared, ...at(local?.endpoints.dynamodb) });
  // Queue URLs carry the host that made them; the configured endpoint is the one that is reached.
  const sqs = new SQSClient({ ...shared, ...at(local?.endpoints.sqs), useQueueUrlAsEndpoint: false });
  const sqsOnce = new SQSClient({
    ...shared,
    ...at(local?.endpoints.sqs),
    useQueueUrlAsEndpoint: false,
    maxAttempts: 1,
  });
  const cloudformation = new CloudFormationClient(shared);
  const lambda = new LambdaClient({ ...shared, ...forWholeInvocations });
  remember(dynamodb, "DynamoDB");
  remember(sqs, "SQS");
  remember(sqsOnce, "SQS");
  remember(cloudformation, "CloudFormation");
  remember(lambda, "Lambda");
  const clients: Pick<LambdaClient, "destroy">[] = [dynamodb, sqs, sqsOnce, cloudformation, lambda];
  let s3: Promise<S3Client> | undefined;
  const createS3 = async () => {
    const { S3Client } = await import("@aws-sdk/client-s3");
    // An emulator knows no host of each bucket.
    const { AWS_ENDPOINT_URL, AWS_ENDPOINT_URL_S3 } = process.env;
    const elsewhere = options.endpointUrl ?? AWS_ENDPOINT_URL_S3 ?? AWS_ENDPOINT_URL;
    const client = new S3Client({ ...shared, forcePathStyle: elsewhere !== undefined });
    remember(client, "S3");
    clients.push(client);
    return client;
  };
  return {
    dynamodb,
    sqs,
    sqsOnce,
    cloudformation,
    lambda,
    s3: async () => {
      s3 ??= createS3();
      return await s3;
    },
    destroy: () => {
      for (const client of clients) client.destroy();
    },
  };
}

const ignore = (): void => undefined;
const common = {
  // The SDK would explain itself over many lines; what matters arrives as an error.
  logger: { trace: ignore, debug: ignore, info: ignore, warn: ignore, error: ignore },
  maxAttempts: 4,
  requestHandler: { connectionTimeout: 3000, requestTimeout: 15_000, throwOnRequestTimeout: true },
};

/** An invocation answers when it has ended, after 15 minutes at most; called again, it would run again. */
const forWholeInvocations = {
  maxAttempts: 1,
  requestHandler: { ...common.requestHandler, requestTimeout: 910_000 },
};

function access({ region, endpointUrl }: AwsOptions) {
  return {
    ...(region === undefined ? {} : { region }),
    ...(endpointUrl === undefined ? {} : { endpoint: endpointUrl }),
  };
}

/** Local servers take any credentials. */
function localAccess({ region }: LocalServers) {
  return { region, credentials: { accessKeyId: "local", secretAccessKey: "local" } };
}

type Client = Pick<
  DynamoDBClient | SQSClient | CloudFormationClient | LambdaClient | S3Client,
  "middlewareStack"
>;

function remember(client: Client, service: Call["service"]): void {
  const stack = client.middlewareStack as DynamoDBClient["middlewareStack"];
  stack.add(
    (next, context) => async (args) => {
      try {
        return await next(args);
      } catch (error) {
        const action = String(context["commandName"] ?? "").replace(/Command$/, "");
        if (typeof error === "object" && error !== null) calls.set(error, { service, action });
        throw error;
      }
    },
    { step: "initialize", name: "rememberCall", priority: "high" },
  );
}
