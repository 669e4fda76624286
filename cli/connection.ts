/** Which table a subcommand reads, and how it reaches AWS: the same options everywhere, named as the AWS CLI names them. */
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { type Command, InvalidArgumentError, Option } from "commander";
import type { TableOptions } from "../functions/adapters/table/client.ts";
import { CommandFailure, describeFailure } from "./failures.ts";

export interface ConnectionOptions {
  readonly table: string;
  readonly region?: string;
  readonly profile?: string;
  readonly endpointUrl?: string;
}

/** Values of a command line, before anything is known of them. */
export type GivenConnection = Omit<ConnectionOptions, "table"> & { readonly table?: string };

const NO_TABLE =
  "error: expected the table's name, found neither --table nor SORTIE_TABLE; the stack's output TableName has it";

/** Adds `--table`, `--region`, `--profile` and `--endpoint-url`. */
export function addConnectionOptions(command: Command): Command {
  return command
    .addOption(
      new Option("--table <name>", "the deployment's table (the stack's output TableName)").env(
        "SORTIE_TABLE",
      ),
    )
    .option("--region <region>", "AWS region; otherwise the environment's or the profile's")
    .option("--profile <name>", "AWS profile; otherwise the environment's credentials")
    .option("--endpoint-url <url>", "another address of DynamoDB, as of a local run", httpUrl);
}

/**
 * Lends a connection to `work`, and turns what goes wrong into one line.
 * @throws CommanderError without a table's name
 * @throws CommandFailure for everything that AWS or the network says no to
 */
export async function withTable<Result>(
  command: Command,
  given: GivenConnection,
  work: (options: TableOptions) => Promise<Result>,
): Promise<Result> {
  const { table } = given;
  if (!table) return command.error(NO_TABLE);
  const client = createClient(given);
  try {
    return await work({ client, table });
  } catch (error) {
    if (error instanceof CommandFailure) throw error;
    throw new CommandFailure(describeFailure(error, { ...given, table }), error);
  } finally {
    client.destroy();
  }
}

const ignore = (): void => undefined;
const silent = { trace: ignore, debug: ignore, info: ignore, warn: ignore, error: ignore };

function createClient({ region, profile, endpointUrl }: GivenConnection): DynamoDBClient {
  // The SDK's chain of credential sources, SSO and roles included, starts from this variable.
  if (profile !== undefined) process.env["AWS_PROFILE"] = profile;
  return new DynamoDBClient({
    ...(region === undefined ? {} : { region }),
    ...(endpointUrl === undefined ? {} : { endpoint: endpointUrl }),
    // The SDK would explain itself over many lines; what matters arrives as an error.
    logger: silent,
    maxAttempts: 3,
    requestHandler: { connectionTimeout: 3000, requestTimeout: 10_000, throwOnRequestTimeout: true },
  });
}

function httpUrl(value: string): string {
  if (/^https?:\/\/[^/]/.test(value) && URL.canParse(value)) return value;
  throw new InvalidArgumentError("Expected an address such as http://127.0.0.1:8000.");
}
