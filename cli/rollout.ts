/** `sortie rollout`: the whole history of one rollout. */
import type { Command } from "commander";
import type { TableOptions } from "../functions/adapters/table/client.ts";
import { readLateResults } from "../functions/adapters/table/late-results.ts";
import { createRolloutReader } from "../functions/adapters/table/rollouts.ts";
import { addCommonOptions, type CommonOptions, withDeployment } from "./connection.ts";
import { CommandFailure } from "./failures.ts";
import { type Io, printJson } from "./io.ts";
import { recentRollouts } from "./look-up.ts";
import { type RolloutTold, rolloutText } from "./rollout-text.ts";
import { chatsIn, showChats, withChats } from "./transcripts/show.ts";

interface RolloutOptions extends CommonOptions {
  readonly fleet?: string;
  readonly chat?: boolean;
  readonly from?: string;
}

const HELP = `
A key is run/<run>/<train or eval>/<repeat>/<task_id>, or
message/<SQS message id> for a message that names no run; the
functions' logs and sortie episodes show it. A task_id alone
finds the newest rollouts of that task.

Examples:
  $ sortie rollout gsm8k-17
  $ sortie rollout run/monday/train/0/gsm8k-17
  $ sortie rollout run/monday/train/0/gsm8k-17 --json | jq .history
  $ sortie rollout gsm8k-17 --chat --local`;

export function registerRollout(program: Command, io: Io): void {
  const command = program
    .command("rollout")
    .description("Prints the whole history of one rollout, or of a task's rollouts.")
    .argument("<key>", "the rollout's key, or a task_id")
    .option("--fleet <name>", "the fleet; else all are asked")
    .option("--chat", "print what its attempts said to the model and heard")
    .option("--from <folder>", "with --chat: a folder of transcripts, in place of a deployment's");
  addCommonOptions(command)
    .addHelpText("after", HELP)
    .action(async (key: string, options: RolloutOptions) => await showRollout(command, key, options, io));
}

async function showRollout(command: Command, given: string, options: RolloutOptions, io: Io): Promise<void> {
  // As it stands in the table, where somebody may have copied it.
  const [, fromTable, rest] = /^ROLLOUT#([^#]+)#(.+)$/s.exec(given) ?? [];
  const key = rest ?? given;
  if (options.from !== undefined) {
    if (!options.chat) throw new CommandFailure("expected --chat beside --from, found none: add it");
    return showChats(await chatsIn(options.from, key, options.fleet), options, io);
  }
  const found = await withDeployment(command, options, async (deployment) => {
    const fleets = await deployment.fleetNames(options.fleet ?? fromTable);
    const table = await deployment.table();
    const named = await readIn(table, fleets, key);
    const items = named.length > 0 ? named : await ofTask(table, fleets, key);
    return options.chat
      ? await withChats(deployment, items)
      : items.map((item) => ({ item, fleet: item.fleet, key: item.key, chats: [] }));
  });
  const [first] = found;
  if (!first)
    throw new CommandFailure(
      `expected a rollout ${JSON.stringify(key)}, found none: check the key (sortie episodes lists them); a rollout that ` +
        "is still in the queue has none, since it is written down when an episode is claimed for it",
    );
  if (options.chat) return showChats(found, options, io);
  const items = found.map(({ item }) => item);
  if (options.json) printJson(io, items.length === 1 ? items[0] : items);
  else io.out(items.map((one) => rolloutText(one, io)).join("\n"));
}

/** A task's rollouts that are shown, the newest first. */
const MOST_OF_TASK = 10;

async function ofTask(table: TableOptions, fleets: readonly string[], task: string): Promise<RolloutTold[]> {
  const wanted = { since: 0, limit: MOST_OF_TASK, task };
  const found = await Promise.all(fleets.map(async (fleet) => await recentRollouts(table, fleet, wanted)));
  const newest = found
    .flat()
    .sort((a, b) => b.changed_at - a.changed_at)
    .slice(0, MOST_OF_TASK);
  return (await Promise.all(newest.map(async ({ fleet, key }) => await readIn(table, [fleet], key)))).flat();
}

async function readIn(table: TableOptions, fleets: readonly string[], key: string): Promise<RolloutTold[]> {
  const store = createRolloutReader(table);
  const items = await Promise.all(
    fleets.map(async (fleet) => {
      const item = await store.read(fleet, key);
      return item && { ...item, late: await readLateResults(table, fleet, key) };
    }),
  );
  return items.filter((item) => item !== undefined);
}
