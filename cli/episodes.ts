/** `sortie episodes`: rollouts that changed last, or whose episodes are open. */
import { type Command, Option } from "commander";
import type { TableOptions } from "../functions/adapters/table/client.ts";
import { createLifecycleReader } from "../functions/adapters/table/lifecycle.ts";
import { createRolloutReader } from "../functions/adapters/table/rollouts.ts";
import {
  isOpen,
  type OpenRolloutItem,
  type RolloutItem,
  rolloutStates,
} from "../functions/core/rollout/item.ts";
import { addCommonOptions, type CommonOptions, withDeployment } from "./connection.ts";
import type { Deployment } from "./deployment.ts";
import { figure, NOTHING, span } from "./format.ts";
import { type Io, printJson } from "./io.ts";
import { recentRollouts, type ShownRollout } from "./look-up.ts";
import { duration, whole } from "./options.ts";
import { listTable } from "./tables.ts";
import { printable } from "./terminal-text.ts";

interface EpisodesOptions extends CommonOptions {
  readonly fleet?: string;
  readonly open?: boolean;
  readonly unconfirmed?: boolean;
  readonly state?: string;
  readonly task?: string;
  readonly since: number;
  readonly limit: number;
}

const HELP = `
Examples:
  $ sortie episodes --open
  $ sortie episodes --unconfirmed
  $ sortie episodes --state dead --since 1d
  $ sortie episodes --task gsm8k-17 --json | jq '.[].key'`;

const DEFAULT_SINCE = "2h";

export function registerEpisodes(program: Command, io: Io): void {
  const command = program
    .command("episodes")
    .description("Lists rollouts by their last change, newest first, or those whose episode is open.")
    .option("--fleet <name>", "only this fleet")
    .addOption(
      new Option("--open", "those that hold an episode of the engine now, oldest first").conflicts("state"),
    )
    .addOption(
      new Option(
        "--unconfirmed",
        "train rollouts whose reward the engine's batch has not shown yet, oldest first",
      ).conflicts(["state", "open"]),
    )
    .addOption(new Option("--state <state>", "only those in this state").choices(rolloutStates))
    .option("--task <id>", "only those of this task")
    .addOption(
      new Option("--since <span>", "changed within this span: 90s, 30m, 2h, 7d")
        .argParser(duration)
        .default(duration(DEFAULT_SINCE), DEFAULT_SINCE),
    )
    .option("--limit <n>", "so many at most", whole(1), 50);
  addCommonOptions(command)
    .addHelpText("after", HELP)
    .action(async (options: EpisodesOptions) => await listEpisodes(command, options, io));
}

async function listEpisodes(command: Command, options: EpisodesOptions, io: Io): Promise<void> {
  const text = await withDeployment(command, options, async (deployment) => {
    const fleets = await deployment.fleetNames(options.fleet);
    const table = await deployment.table();
    if (options.open) return shownOpen(await openItems(deployment, table, fleets, options), options, io);
    if (options.unconfirmed)
      return shownUnconfirmed(await unconfirmedItems(deployment, table, fleets, options), options, io);
    return shownRecent(await recent(table, fleets, options, io), options, io);
  });
  if (typeof text === "string") io.out(text);
  else printJson(io, text);
}

async function recent(
  table: TableOptions,
  fleets: readonly string[],
  { since, limit, state, task }: EpisodesOptions,
  io: Io,
): Promise<ShownRollout[]> {
  const wanted = { since: io.now() - since, limit, state, task };
  const found = await Promise.all(fleets.map(async (fleet) => await recentRollouts(table, fleet, wanted)));
  return found
    .flat()
    .sort((a, b) => b.changed_at - a.changed_at)
    .slice(0, limit);
}

function shownRecent(
  rollouts: readonly ShownRollout[],
  { json, since }: EpisodesOptions,
  io: Io,
): string | object {
  if (json) return rollouts;
  if (rollouts.length === 0) return `No such rollout has changed in the last ${span(since)}.\n`;
  const rows = rollouts.map((rollout) => {
    const last = rollout.history.at(-1);
    const reward = typeof last?.reward === "number" ? figure(last.reward) : NOTHING;
    const ago = span(io.now() - rollout.changed_at);
    return [
      printable(rollout.key),
      rollout.state,
      last?.reason ?? NOTHING,
      reward,
      String(rollout.history.length),
      ago,
    ];
  });
  return `${listTable(["rollout", "state", "last attempt", "reward", "tries", "changed, ago"], rows, io)}\n`;
}

async function openItems(
  deployment: Deployment,
  table: TableOptions,
  fleets: readonly string[],
  { task, limit }: EpisodesOptions,
): Promise<OpenRolloutItem[]> {
  const engines = await enginesOf(deployment, fleets);
  const store = createLifecycleReader(table);
  const open = (await Promise.all(engines.map(async (engine) => await store.openRollouts(engine)))).flat();
  const rollouts = createRolloutReader(table);
  const items = await Promise.all(
    open
      .filter(({ fleet }) => fleets.includes(fleet))
      .slice(0, task === undefined ? limit : open.length)
      .map(async ({ fleet, key }) => await rollouts.read(fleet, key)),
  );
  return items
    .filter((item) => item !== undefined)
    .filter((item) => isOpen(item))
    .filter((item) => task === undefined || item.task_id === task)
    .sort((a, b) => a.attempt.claimed_at - b.attempt.claimed_at)
    .slice(0, limit);
}

async function unconfirmedItems(
  deployment: Deployment,
  table: TableOptions,
  fleets: readonly string[],
  { task, limit }: EpisodesOptions,
): Promise<RolloutItem[]> {
  const engines = await enginesOf(deployment, fleets);
  const store = createLifecycleReader(table);
  const found = (
    await Promise.all(engines.map(async (engine) => await store.unconfirmed(engine, MOST_UNCONFIRMED)))
  ).flat();
  const rollouts = createRolloutReader(table);
  const items = await Promise.all(
    found
      .filter(({ fleet }) => fleets.includes(fleet))
      .slice(0, task === undefined ? limit : found.length)
      .map(async ({ fleet, key }) => await rollouts.read(fleet, key)),
  );
  return items
    .filter((item) => item !== undefined)
    .filter((item) => item.state === "ended" && item.confirmed_at === undefined)
    .filter((item) => task === undefined || item.task_id === task)
    .sort((a, b) => a.changed_at - b.changed_at)
    .slice(0, limit);
}

/** Of each engine: the sweep confirms what it can every minute, so that few remain. */
const MOST_UNCONFIRMED = 1000;

function shownUnconfirmed(items: readonly RolloutItem[], { json }: EpisodesOptions, io: Io): string | object {
  if (json) return items;
  if (items.length === 0)
    return "The engine's batch has shown the reward of every train rollout that ended.\n";
  const rows = items.map((item) => {
    const last = item.history.at(-1);
    const reward = typeof last?.reward === "number" ? figure(last.reward) : NOTHING;
    const step = typeof last?.step === "number" ? String(last.step) : NOTHING;
    return [
      printable(item.key),
      printable(last?.episode ?? NOTHING),
      step,
      reward,
      span(io.now() - item.changed_at),
    ];
  });
  return `${listTable(["rollout", "episode", "step", "reward", "ended, ago"], rows, io)}\n`;
}

/** Where only the table is known, a fleet's engine has the default's name. */
async function enginesOf(deployment: Deployment, fleets: readonly string[]): Promise<string[]> {
  if (deployment.tableAlone) return ["main"];
  const known = (await deployment.fleets()).filter(({ name }) => fleets.includes(name));
  return [...new Set(known.map(({ engine }) => engine))];
}

function shownOpen(items: readonly OpenRolloutItem[], { json }: EpisodesOptions, io: Io): string | object {
  if (json) return items;
  if (items.length === 0) return "No episode is open.\n";
  const rows = items.map(({ key, state, attempt, tries }) => {
    const remaining = attempt.expires_at - io.now();
    const expires = remaining > 0 ? `in ${span(remaining)}` : `${span(-remaining)} ago`;
    const step = attempt.global_step === null ? NOTHING : String(attempt.global_step);
    const age = span(io.now() - attempt.claimed_at);
    return [printable(key), state, printable(attempt.episode), step, String(tries), age, expires];
  });
  return `${listTable(["rollout", "state", "episode", "step", "try", "claimed, ago", "expires"], rows, io)}\n`;
}
