/** Zod's issues in plain words: where, what was expected, what was found, what to do. */
import { diff } from "node:util";
import type { z } from "zod";
import { agentKeys } from "./agent-settings.ts";
import { engineShape } from "./engine-settings.ts";
import { networkShape } from "./network-settings.ts";
import { deploymentShape, fleetShape, settingsSchema } from "./settings-schema.ts";

type Issue = z.core.$ZodIssue;
type Path = readonly PropertyKey[];

/** One text per fault. */
export function describeIssue(issue: Issue, written: unknown): string[] {
  if (issue.code === "unrecognized_keys") return issue.keys.map((key) => unknownKey(issue.path, key));
  const message = issue.code === "invalid_key" ? (issue.issues[0]?.message ?? issue.message) : issue.message;
  const found = issue.code === "invalid_key" ? issue.path.at(-1) : valueAt(written, issue.path);
  return [`${pathText(issue.path)}: ${message}, found ${valueText(found)}`];
}

/** `written` without everything that an issue is about, so that what is left can be checked too. */
export function withoutFaults(written: object, issues: readonly Issue[]): object {
  const rest = structuredClone(written);
  for (const issue of issues) {
    const keys = issue.code === "unrecognized_keys" ? issue.keys : [undefined];
    for (const key of keys) remove(rest, key === undefined ? issue.path : [...issue.path, key]);
  }
  return rest;
}

/** Where a required key is missing, its parent goes. */
function remove(from: unknown, path: Path): void {
  const parent = valueAt(from, path.slice(0, -1));
  const key = path.at(-1);
  if (key === undefined || typeof parent !== "object" || parent === null) return;
  if (Object.hasOwn(parent, key)) Reflect.deleteProperty(parent, key);
  else remove(from, path.slice(0, -1));
}

function valueAt(value: unknown, path: Path): unknown {
  return path.reduce<unknown>(
    (at, key) => (typeof at === "object" && at !== null ? Reflect.get(at, key) : undefined),
    value,
  );
}

function unknownKey(path: Path, key: string): string {
  const where = pathText([...path, key]);
  if (path[0] === "fleets" && path.length === 2 && Object.hasOwn(deploymentShape, key)) {
    return `${where}: this setting is for all fleets: move it to the top level`;
  }
  const known = knownKeys(path);
  const near = nearest(key, known);
  const help =
    near === undefined ? `expected one of ${known.toSorted().join(", ")}` : `did you mean ${near}?`;
  return `${where}: there is no such setting; ${help}`;
}

function knownKeys(path: Path): string[] {
  if (path.at(-1) === "throttle") return ["ratio", "batchSize", "repeats"];
  if (path.at(-1) === "budget") return ["usdPerDay"];
  if (path.at(-1) === "agent") return agentKeys;
  if (path[0] === "engines") return Object.keys(engineShape);
  if (path[0] === "network") return Object.keys(networkShape);
  return Object.keys(path[0] === "fleets" ? fleetShape : settingsSchema.shape);
}

/** The known key that takes the fewest changes, unless they would change half of it. */
export function nearest(key: string, known: readonly string[]): string | undefined {
  const changes = (other: string): number =>
    diff(key.toLowerCase(), other.toLowerCase()).filter(([operation]) => operation !== 0).length;
  const best = known
    .map((name) => ({ name, changes: changes(name) }))
    .reduce((a, b) => (b.changes < a.changes ? b : a));
  return best.changes <= best.name.length / 2 ? best.name : undefined;
}

function pathText(path: Path): string {
  return path.map(String).join(".") || "settings";
}

/** Bounded; and a URL may hold a password by mistake, so what stands before its @ is left out. */
function valueText(value: unknown): string {
  if (value === undefined) return "nothing";
  return JSON.stringify(value)
    .replace(/\/\/[^/@\s]*@/g, "//***@")
    .slice(0, 200);
}
