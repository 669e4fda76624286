/** The training config that a client syncs: YAML, of which the stand-in reads a few settings and no more. */
import type { BatchTargets } from "./batch.ts";
import { collectionMethods } from "./config.ts";

/** Why the engine cannot start with this YAML, in PyYAML's words where they are known; undefined where it can. */
export function configFault(yaml: string): string | undefined {
  const [first = ""] = yaml.trim();
  if (first === "]" || first === "}") return unexpected(first, yaml);
  if (first === "") return "'NoneType' object has no attribute 'get'";
  if (/^[ \t]*["']?[\w.-]+["']?[ \t]*:(\s|$)/m.test(yaml)) return undefined;
  return `'${first === "[" || yaml.startsWith("- ") ? "list" : "str"}' object has no attribute 'get'`;
}

function unexpected(token: string, yaml: string): string {
  const before = yaml.slice(0, yaml.indexOf(token)).split("\n");
  const [line, column] = [before.length, (before.at(-1) ?? "").length];
  const shown = yaml.split("\n")[line - 1] ?? "";
  return [
    "while parsing a block node",
    `expected the node content, but found '${token}'`,
    `  in "<unicode string>", line ${line}, column ${column + 1}:`,
    `    ${shown}`,
    `    ${" ".repeat(column)}^`,
  ].join("\n");
}

/** The batch that the config asks for; what it leaves out stays as it was. */
export function targetsOf(yaml: string, otherwise: BatchTargets): BatchTargets {
  const read = (name: string) => scalarOf(yaml, name);
  const method = read("swarm_mode_sample_collection_method");
  return {
    method: collectionMethods.find((known) => known === method) ?? otherwise.method,
    tasks: positive(read("train_batch_size")) ?? otherwise.tasks,
    repeats: positive(read("num_repeat")) ?? otherwise.repeats,
  };
}

/** `ajet.trainer_common.total_training_steps`: after this step the training ends. */
export function totalStepsOf(yaml: string): number | undefined {
  return positive(scalarOf(yaml, "total_training_steps"));
}

/** Where the server puts what the training writes. */
export function experimentDirOf(yaml: string): string {
  return `saved_experiments/${scalarOf(yaml, "experiment_name") ?? "stand-in"}`;
}

/** `ajet.model.path`; null where the config names none. */
export function modelPathOf(yaml: string): string | null {
  return scalarOf(yaml, "path") ?? null;
}

function scalarOf(yaml: string, name: string): string | undefined {
  return new RegExp(`^[ \\t]*${name}[ \\t]*:[ \\t]*["']?([^\\s"'#]+)`, "m").exec(yaml)?.[1];
}

function positive(text: string | undefined): number | undefined {
  const value = Number(text);
  return Number.isInteger(value) && value > 0 ? value : undefined;
}
