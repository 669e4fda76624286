/** `sortie dead`: what a fleet gave up on. */
import { type Command, Option } from "commander";
import { addCommonOptions, withDeployment } from "../connection.ts";
import { neededQueue } from "../deployment.ts";
import type { Io } from "../io.ts";
import { whole } from "../options.ts";
import { letterReasons } from "./letter.ts";
import { list, show } from "./look.ts";
import type { DeadOptions, Place } from "./place.ts";
import { purgeAll } from "./purge.ts";
import { redriveAll } from "./redrive-all.ts";

const HELP = `
Examples:
  $ sortie dead list
  $ sortie dead show --reason agent-error --limit 3 --body
  $ sortie dead redrive --reason deadline
  $ sortie dead purge --reason invalid-message --yes`;

export function registerDead(program: Command, io: Io): void {
  const dead = program
    .command("dead")
    .description("Lists, sends back or removes what a fleet gave up on.")
    .addHelpText("after", HELP);
  const sub = (
    name: string,
    description: string,
    work: (at: Place, options: DeadOptions, io: Io) => Promise<void>,
  ) => {
    const command = dead
      .command(name)
      .description(description)
      .option("--fleet <name>", "the fleet, where there are several")
      .addOption(new Option("--reason <reason>", "only letters of this reason").choices(letterReasons));
    return addCommonOptions(command)
      .addHelpText("after", HELP)
      .action(
        async (options: DeadOptions) =>
          await withLetters(command, options, async (at) => await work(at, options, io)),
      );
  };
  sub("list", "Counts dead letters by reason.", list);
  sub("show", "Prints dead letters one by one.", show)
    .option("--limit <n>", "so many at most", whole(1), 10)
    .option("--body", "print the message's body too (it holds the prompt)");
  sub("redrive", "Sends dead letters back into the queue, with fresh attempts.", redriveAll)
    .option("--limit <n>", "so many at most", whole(1))
    .option("--unsure", "also those that an interrupted redrive may have sent already");
  sub("purge", "Removes dead letters for good.", purgeAll).option("--yes", "do not ask");
}

async function withLetters(
  command: Command,
  options: DeadOptions,
  work: (at: Place) => Promise<void>,
): Promise<void> {
  await withDeployment(command, options, async (deployment) => {
    const fleet = await deployment.fleet(options.fleet);
    const letters = { client: deployment.aws.sqs, queueUrl: neededQueue(fleet, "deadLetterQueueUrl") };
    await work({ deployment, fleet, letters });
  });
}
