/** Reads the settings of a deployment from CDK context (`cdk.json`, or `-c key=value`). */
import type { z } from "zod";
import { SettingsError } from "../functions/contract/settings-error.ts";
import { engineFaults } from "./engine-settings.ts";
import { deploymentFaults, environmentFaults, fleetFaults, visibilityFaults } from "./fleet-limits.ts";
import { networkFaults } from "./network-settings.ts";
import { describeIssue, withoutFaults } from "./settings-faults.ts";
import {
  type DeploymentSettings,
  deploymentDefaults,
  deploymentPart,
  type EngineSettings,
  type FleetSettings,
  fleetDefaults,
  fleetPart,
  type NetworkSettings,
  settingsSchema,
  type WrittenSettings,
} from "./settings-schema.ts";

/** The settings of a deployment, complete and checked. */
export interface Settings {
  readonly stackName: string;
  readonly engines: Readonly<Record<string, EngineSettings>>;
  readonly fleets: Readonly<Record<string, FleetSettings>>;
  readonly deployment: DeploymentSettings;
  /** Absent: the functions run outside of any network of the user's. */
  readonly network?: NetworkSettings;
  /** At most one of the two. */
  readonly alarmTopicArn?: string;
  readonly alarmEmail?: string;
  readonly retiredFleets: readonly string[];
}

/** The name of the engine and of the fleet of those who have only one. */
export const DEFAULT_NAME = "main";
/** Keys that the CDK itself puts into the context beside those that have an @ or a colon in them. */
const cdkKeys: ReadonlySet<string> = new Set([
  "acknowledged-issue-numbers",
  "cli-telemetry",
  "tree-metadata",
]);
/** These stay text, even where they look like a number. */
const textKeys: ReadonlySet<string> = new Set([
  "stackName",
  "engineUrl",
  "engine",
  "agent",
  "alarmTopicArn",
  "alarmEmail",
]);

/**
 * @param context all of it (`app.node.getAllContext()`); what belongs to the CDK is passed over
 * @throws SettingsError with every fault at once
 */
export function decodeSettings(context: Readonly<Record<string, unknown>>): Settings {
  const written = ownSettings(context);
  const { sound, faults } = parseWhatIsSound(written);
  const names = engineNames(written);
  const deployment = completeDeployment(sound);
  const fleets = fleetsOf(sound, names);
  faults.push(
    ...missingEngine(written, names),
    ...deploymentFaults(deployment),
    ...stackFaults(sound, fleets),
  );
  for (const [name, fleet] of Object.entries(fleets)) {
    const where = sound.fleets?.[name] === undefined ? "" : `fleets.${name}.`;
    const found = [
      ...unknownEngine(fleet.engine, names),
      ...fleetFaults(fleet),
      ...visibilityFaults(fleet, deployment),
    ];
    faults.push(...found.map((fault) => where + fault));
  }
  if (faults.length > 0) throw new SettingsError([...new Set(faults)]);
  const { stackName = "Sortie", retiredFleets = [], network, alarmTopicArn, alarmEmail } = sound;
  const optional = defined({ network, alarmTopicArn, alarmEmail });
  return { stackName, engines: enginesOf(sound), fleets, deployment, retiredFleets, ...optional };
}

function stackFaults(sound: WrittenSettings, fleets: Readonly<Record<string, FleetSettings>>): string[] {
  const faults = Object.entries(enginesOf(sound)).flatMap(([name, engine]) =>
    engineFaults(engine).map((fault) => `engines.${name}.${fault}`),
  );
  faults.push(...environmentFaults(fleets));
  if (sound.network) faults.push(...networkFaults(sound.network));
  if (sound.alarmTopicArn !== undefined && sound.alarmEmail !== undefined)
    faults.push(
      "alarmEmail: there is alarmTopicArn too: leave one out, and subscribe the address to that topic",
    );
  const alive = sound.retiredFleets?.filter((name) => fleets[name] !== undefined) ?? [];
  faults.push(
    ...alive.map((name) => `retiredFleets: fleet ${name} is given up, and there is one: remove either`),
  );
  return faults;
}

/** Fills in the defaults; keys that are not the deployment's are left out. */
export function completeDeployment(given: z.input<typeof deploymentPart>): DeploymentSettings {
  return { ...deploymentDefaults, ...defined(deploymentPart.parse(given)) };
}

/** The faults of single values, and the settings without those values, to check what depends on several. */
function parseWhatIsSound(written: object): { sound: WrittenSettings; faults: string[] } {
  const parsed = settingsSchema.safeParse(written);
  if (parsed.success) return { sound: parsed.data, faults: [] };
  const { issues } = parsed.error;
  const faults = issues.flatMap((issue) => describeIssue(issue, written));
  const rest = settingsSchema.safeParse(withoutFaults(written, issues));
  if (!rest.success) throw new SettingsError(faults);
  return { sound: rest.data, faults };
}

function ownSettings(context: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const own = Object.entries(context).filter(([key]) => !/[@:]/.test(key) && !cdkKeys.has(key));
  // An agent's name is text, and where it runs an object.
  const isText = (key: string, value: unknown) =>
    textKeys.has(key) && !(key === "agent" && /^\s*\{/.test(String(value)));
  return Object.fromEntries(own.map(([key, value]) => [key, isText(key, value) ? value : plain(value)]));
}

/** `-c` hands over text: numbers, booleans and objects are written in it as JSON. */
function plain(value: unknown): unknown {
  if (typeof value !== "string") return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

type Defined<T> = { [K in keyof T]: Exclude<T[K], undefined> };

function defined<T extends object>(values: T): Defined<T> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Defined<T>;
}

/** As written, faulty or not, so that a faulty engine is not also reported as a missing one. */
function engineNames(written: Record<string, unknown>): string[] {
  const { engines, engineUrl } = written;
  const names = typeof engines === "object" && engines !== null ? Object.keys(engines) : [];
  return [...new Set([...(engineUrl === undefined ? [] : [DEFAULT_NAME]), ...names])];
}

function enginesOf(sound: WrittenSettings): Record<string, EngineSettings> {
  const short = sound.engineUrl === undefined ? {} : { [DEFAULT_NAME]: { url: sound.engineUrl } };
  return { ...short, ...sound.engines };
}

function missingEngine(written: Record<string, unknown>, names: readonly string[]): string[] {
  const { engines, engineUrl } = written;
  if (engineUrl !== undefined && engines !== undefined) {
    return ["engineUrl: this is short for engines.main.url, and there are engines too: move it there"];
  }
  if (names.length > 0 || (engines !== undefined && typeof engines !== "object")) return [];
  return [
    "engineUrl: expected the engine's address, found nothing: add -c engineUrl=http://<host>:10086, or write it into cdk.json under context",
  ];
}

function fleetsOf(sound: WrittenSettings, names: readonly string[]): Record<string, FleetSettings> {
  const engine = names.length === 1 ? (names[0] ?? DEFAULT_NAME) : DEFAULT_NAME;
  const shared = { ...fleetDefaults, engine, ...defined(fleetPart.parse(sound)) };
  const fleets = Object.entries(sound.fleets ?? { [DEFAULT_NAME]: {} });
  return Object.fromEntries(fleets.map(([name, fleet]) => [name, { ...shared, ...defined(fleet) }]));
}

function unknownEngine(engine: string, names: readonly string[]): string[] {
  if (names.length === 0 || names.includes(engine)) return [];
  return [`engine: expected one of the engines (${names.join(", ")}), found ${JSON.stringify(engine)}`];
}
