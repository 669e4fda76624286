/** The settings of a local run: those of cdk.json, as far as one machine can have them. */
import { readFile } from "node:fs/promises";
import * as z from "zod";
import { InputError } from "../input-error.ts";
import { fleetSettings } from "./fleets.ts";
import type { JobOptions } from "./options.ts";

/** How many episodes at once, unless cdk.json says: enough for the stand-in's batch, few enough processes for two cores. */
const MAX_EPISODES = 30;
const EPISODES_PER_INVOCATION = 10;
/** What exists only in an account. */
const elsewhere = ["network", "alarmTopicArn", "alarmEmail", "retiredFleets"] as const;

const cdkJson = z.object({ context: z.record(z.string(), z.unknown()).default({}) });

export type Written = Readonly<Record<string, unknown>>;

/** The context of this folder's cdk.json, or of the file that is named. @throws InputError */
export async function writtenSettings(file = "cdk.json"): Promise<Written> {
  const text = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    throw new InputError(`${file}: expected a file as cdk.json is, could not read it (${error.code})`);
  });
  try {
    return cdkJson.parse(JSON.parse(text)).context;
  } catch {
    throw new InputError(`${file}: expected JSON with the settings under "context", as in cdk.json`);
  }
}

/** Different tasks in a batch of the stand-in: few, so that its policy is updated often; ten where they are shared. */
export function batchTasks(options: Pick<JobOptions, "fleets">): number {
  return options.fleets ? 10 : 4;
}

/** Options come before what is written; every engine is the one at `engineUrl`. */
export function settings(options: JobOptions, engineUrl: string, written: Written): Record<string, unknown> {
  const { agent, repeats, fleets } = options;
  const {
    engineUrl: _,
    engines,
    ...kept
  } = Object.fromEntries(Object.entries(written).filter(([name]) => !elsewhere.some((one) => one === name)));
  return {
    maxEpisodes: MAX_EPISODES,
    episodesPerInvocation: EPISODES_PER_INVOCATION,
    ...kept,
    ...enginesAt(engineUrl, fleets ? undefined : engines),
    ...(agent !== undefined && { agent }),
    retain: false,
    ...fleetsOf(options, kept["fleets"], { repeats, batchTasks: batchTasks(options) }),
  };
}

function fleetsOf(
  { agent, fleets }: JobOptions,
  written: unknown,
  batch: { batchTasks: number; repeats: number },
): { fleets?: unknown } {
  if (fleets) return { fleets: fleetSettings(fleets, { agent, ...batch }) };
  if (agent === undefined || typeof written !== "object" || written === null) return {};
  // The agent that was asked for is everybody's.
  const entries = Object.entries(written).map(([name, fleet]) => [name, { ...fleet, agent }]);
  return { fleets: Object.fromEntries(entries) };
}

function enginesAt(url: string, engines: unknown): Record<string, unknown> {
  if (typeof engines !== "object" || engines === null) return { engineUrl: url };
  return { engines: Object.fromEntries(Object.keys(engines).map((name) => [name, { url }])) };
}

/** What was taken from cdk.json and what was not, in one line; undefined where it says nothing of its own. */
export function settingsNote(written: Written): string | undefined {
  const own = Object.keys(written).filter((name) => !/[@:]/.test(name) && name !== "engineUrl");
  const [left, taken] = [own.filter(isElsewhere), own.filter((name) => !isElsewhere(name))];
  if (own.length === 0) return undefined;
  const parts = [
    ...(taken.length > 0 ? [`from cdk.json: ${taken.join(", ")}`] : []),
    ...(left.length > 0 ? [`only in an account: ${left.join(", ")}`] : []),
  ];
  return parts.join("; ");
}

function isElsewhere(name: string): boolean {
  return elsewhere.some((one) => one === name);
}
