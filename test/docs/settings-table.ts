/**
 * The README's tables of settings, from the schema: keys and bounds from zod, defaults from where they stand, meanings from
 * the comments. `npx node test/docs/settings-table.ts` writes them anew, between the README's `settings` marks.
 */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { engineShape } from "../../lib/engine-settings.ts";
import { networkShape } from "../../lib/network-settings.ts";
import { decodeSettings } from "../../lib/settings.ts";
import { deploymentDefaults, fleetDefaults, fleetShape, settingsSchema } from "../../lib/settings-schema.ts";
import { DEFAULT_HEADER } from "../../lib/token-settings.ts";

const root = join(import.meta.dirname, "../..");
export const README = join(root, "README.md");
const MARKS = /(?<=<!-- settings -->\n).*?(?=<!-- \/settings -->)/s;

export interface Row {
  readonly key: string;
  readonly meaning: string;
  readonly fallback: string;
  readonly bounds: string;
}
export interface Section {
  readonly title: string;
  readonly rows: readonly Row[];
}

type Schema = Readonly<Record<string, unknown>>;

/** Where the schema has no comment, or one that is about several keys. */
const words: Readonly<Record<string, string>> = {
  logRetentionDays: "How long CloudWatch keeps the logs, days.",
  stackName: "The name of the stack; another name is another deployment.",
  network: "The private network that the functions run in, see below. Absent: none.",
  alarmTopicArn: "The SNS topic that alarms go to. Absent: nowhere.",
  alarmEmail: "Or an address, for which a topic is made. Absent: nowhere.",
  retiredFleets:
    "Fleets of an earlier deployment that are given up; a deployment that lacks one fails. Absent: none.",
  engineUrl: "Short for `engines.main.url`: the one engine's address. Absent: required, or `engines`.",
  engines: "The engines by name, see below. Absent: required, or `engineUrl`.",
  fleets: "The fleets by name, each with settings of its own. Absent: one, `main`.",
  url: "The engine's address. Absent: required.",
  tokenSecretArn:
    "The secret in Secrets Manager with the proxy's token (bare, or JSON with the key `token`); its whole ARN. Absent: no token.",
  tokenSecretKeyArn: "The key that the secret is encrypted with, where it is your own. Absent: AWS's.",
  caCertificateFile:
    "Certificates of authorities to trust beside the public ones: the path of a PEM file. Absent: none.",
  vpcId: "The VPC. Absent: required.",
  availabilityZones: "One per subnet, in the same order. Absent: looked up.",
  routeTableIds:
    "One per subnet, in the same order; only for an endpoint of DynamoDB, which is a route. Absent: none.",
  endpoints: "Endpoints to make in the VPC, so that nothing needs a NAT gateway. Absent: none.",
};

const logPeriods = "a period that CloudWatch has, such as 1, 7, 30, 90, 365";
const bounds: Readonly<Record<string, string>> = {
  engine: "one of `engines`",
  agent: "a shipped agent, the path of a .ts or .js file, or an object",
  logRetentionDays: logPeriods,
  fleets: "names of a-z, 0-9 and -",
  engines: "names of a-z, 0-9 and -",
  network: "an object",
  engineUrl: "http or https",
  url: "http or https",
  header: "letters, digits and hyphens",
  caCertificateFile: "a path",
  availabilityZones: "a list of names",
  retiredFleets: "a list of names",
  stackName: "letters, digits and hyphens",
};

export function settingsSections(): readonly Section[] {
  const top = Object.keys(settingsSchema.shape);
  const own = top.filter((key) => !(key in fleetShape));
  const defaults = { ...deploymentDefaults, stackName: decodeSettings({ engineUrl: "http://e" }).stackName };
  return [
    section("A fleet", fleetShape, Object.keys(fleetShape), fleetDefaults),
    section("The deployment", settingsSchema.shape, own, defaults),
    section("An engine, under `engines.<name>`", engineShape, Object.keys(engineShape), {
      header: DEFAULT_HEADER,
    }),
    section("The network, under `network`", networkShape, Object.keys(networkShape), {}),
  ];
}

function section(
  title: string,
  shape: Readonly<Record<string, z.ZodType>>,
  keys: readonly string[],
  defaults: Readonly<Record<string, unknown>>,
): Section {
  const rows = keys.map((key) => {
    const [meaning = "", absent = ""] = meaningOf(key).split(/ (?:Absent|Default): /);
    const fallback = defaults[key] === undefined ? absent.replace(/\.$/, "") : `\`${defaults[key]}\``;
    const schema = z.toJSONSchema(shape[key] ?? z.never(), { unrepresentable: "any", io: "input" });
    return { key, meaning, fallback, bounds: bounds[key] ?? boundsOf(schema) };
  });
  return { title, rows };
}

function meaningOf(key: string): string {
  const meaning = words[key] ?? comments.get(key);
  if (meaning === undefined)
    throw new Error(`expected a comment at ${key} in the schema, found none: write one, or add it to words`);
  return meaning;
}

/** The comment right above each key, in one line. */
const comments = new Map(
  ["settings-schema", "engine-settings", "token-settings", "network-settings"].flatMap((file) => {
    const source = readFileSync(join(root, `lib/${file}.ts`), "utf8");
    const found = source.matchAll(/\/\*\*((?:(?!\*\/).)*)\*\/\s*(\w+)[:,]/gs);
    return [...found].map(([, text = "", key = ""]) => [key, text.replace(/\s*\n\s*\* ?|\s+/g, " ").trim()]);
  }),
);

function boundsOf(schema: Schema): string {
  if (schema["anyOf"]) return (schema["anyOf"] as Schema[]).map(boundsOf).join(", ");
  if (schema["enum"]) return (schema["enum"] as string[]).map((value) => `\`${value}\``).join(", ");
  if (schema["type"] === "boolean") return "`true`, `false`";
  if (schema["type"] === "array") return `a list: ${boundsOf(schema["items"] as Schema)}`;
  if (schema["type"] === "object") return objectBounds(schema);
  if (schema["type"] === "integer" || schema["type"] === "number") return numberBounds(schema);
  return textBounds(schema);
}

function objectBounds({ properties = {} }: Schema): string {
  const parts = Object.entries(properties as Record<string, Schema>).map(([name, part]) => {
    const fallback = part["default"] === undefined ? "" : ` (default ${part["default"]})`;
    return `\`${name}\`: ${boundsOf(part)}${fallback}`;
  });
  return parts.join("; ");
}

function numberBounds({ minimum, maximum, exclusiveMinimum, exclusiveMaximum }: Schema): string {
  if (exclusiveMaximum !== undefined) return `between ${exclusiveMinimum} and ${exclusiveMaximum}`;
  if (exclusiveMinimum !== undefined) return `above ${exclusiveMinimum}`;
  return maximum === undefined ? `at least ${minimum}` : `${number(minimum)} to ${number(maximum)}`;
}

function number(value: unknown): string {
  return Number(value).toLocaleString("en-US");
}

/** From the pattern: the kind of id or of ARN. */
function textBounds({ pattern, format }: Schema): string {
  const text = String(pattern ?? "");
  const service = /^\^arn:aws\[\\w-\]\*:(\w+):/.exec(text)?.[1];
  if (service) return `an ARN of ${service}`;
  const id = /^\^(vpc|subnet|sg|rtb)-/.exec(text)?.[1];
  if (id) return `\`${id}-…\``;
  if (format === "email") return "an e-mail address";
  return "text";
}

export function renderSettings(sections: readonly Section[]): string {
  return sections
    .map(({ title, rows }) => {
      const lines = rows.map(
        ({ key, meaning, fallback, bounds }) => `| \`${key}\` | ${meaning} | ${fallback} | ${bounds} |`,
      );
      return [
        `**${title}**`,
        "",
        "| setting | meaning | default | bounds |",
        "| --- | --- | --- | --- |",
        ...lines,
      ];
    })
    .map((lines) => lines.join("\n"))
    .join("\n\n");
}

/** What stands between the marks. */
export function settingsInReadme(): string {
  return MARKS.exec(readFileSync(README, "utf8"))?.[0] ?? "";
}

if (import.meta.main) {
  const rendered = `\n${renderSettings(settingsSections())}\n\n`;
  writeFileSync(
    README,
    readFileSync(README, "utf8").replace(MARKS, () => rendered),
  );
  execFileSync(join(root, "node_modules/.bin/biome"), ["format", "--write", README], { stdio: "inherit" });
}
