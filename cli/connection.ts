/** Where a deployment is: the same options on every command, named as the AWS CLI names them. */
import { type Command, Option } from "commander";
import { type Aws, createAws } from "./aws.ts";
import { type Deployment, findDeployment, type GivenConnection } from "./deployment.ts";
import { CommandFailure, describeFailure } from "./failures.ts";
import { readLocalRun } from "./local-run.ts";
import { httpUrl } from "./options.ts";

/** What every command has: where the deployment is, and `--json`. */
export interface CommonOptions extends GivenConnection {
  readonly json?: boolean;
}

export const DEFAULT_STACK = "Sortie";

/** Adds the options that say where the deployment is, and `--json`. */
export function addCommonOptions(command: Command): Command {
  return command
    .option("--json", "print one JSON value, for programs")
    .addOption(
      new Option("--stack <name>", "the stack, whose outputs name table and queues")
        .env("SORTIE_STACK")
        .default(DEFAULT_STACK),
    )
    .addOption(
      new Option("--table <name>", "the table, instead of the stack's output TableName").env("SORTIE_TABLE"),
    )
    .option("--queue-url <url>", "the fleet's queue, instead of the stack's output Fleets", httpUrl)
    .option("--dead-letter-queue-url <url>", "the fleet's dead letters, in the same way", httpUrl)
    .option("--local", "the system that npm start -- --serve runs on this machine")
    .option("--region <region>", "AWS region; otherwise the environment's or the profile's")
    .option("--profile <name>", "AWS profile; otherwise the environment's credentials")
    .option("--endpoint-url <url>", "another address for all of AWS, as of an emulator", httpUrl);
}

/**
 * Lends the deployment to `work`, and turns what goes wrong into one line.
 * @throws CommandFailure for everything that AWS or the network says no to
 */
export async function withDeployment<Result>(
  command: Command,
  given: GivenConnection,
  work: (deployment: Deployment) => Promise<Result>,
): Promise<Result> {
  const where = wherePlaced(command, given);
  let aws: Aws | undefined;
  let deployment: Deployment | undefined;
  try {
    const local = where.local ? await readLocalRun() : undefined;
    aws = createAws(where, local);
    deployment = findDeployment(aws, where, local);
    return await work(deployment);
  } catch (error) {
    if (error instanceof CommandFailure) throw error;
    throw new CommandFailure(describeFailure(error, { ...where, ...deployment?.known() }), error);
  } finally {
    aws?.destroy();
  }
}

/** A stack or a local run that the command line asks for counts more than a table that the environment names. */
function wherePlaced(command: Command, given: GivenConnection): GivenConnection {
  const fromEnvironment = command.getOptionValueSource("table") === "env";
  const placed = given.local || command.getOptionValueSource("stack") === "cli";
  if (!fromEnvironment || !placed) return given;
  const { table: _, ...rest } = given;
  return rest;
}
