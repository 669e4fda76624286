/** A training config, refused before it is stored where the engine could make nothing of it. */
import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { parseAllDocuments } from "yaml";
import { CommandFailure } from "./failures.ts";
import type { Io } from "./io.ts";

/** @throws CommandFailure where the file cannot be read, is no YAML, or no mapping */
export async function readConfig(file: string, io: Pick<Io, "input">): Promise<string> {
  const config = file === "-" ? await text(io.input) : await fileText(file);
  const fault = configFault(config);
  if (fault)
    throw new CommandFailure(`${file === "-" ? "standard input" : file}: ${fault}; nothing was changed`);
  return config;
}

/** What Sortie itself goes by in a config. */
export interface ConfigFacts {
  /** `ajet.trainer_common.total_training_steps` */
  readonly totalSteps: number | undefined;
  /** `ajet.swarm_mode_sample_collection_method` */
  readonly collectionMethod: string | undefined;
}

/** Of a config without a fault. A value that the engine would have to interpret first counts as none. */
export function configFacts(config: string): ConfigFacts {
  const ajet = child(
    parseAllDocuments(config, { version: "1.1" }).at(0)?.toJS({ maxAliasCount: 1000 }),
    "ajet",
  );
  const steps = child(child(ajet, "trainer_common"), "total_training_steps");
  const method = child(ajet, "swarm_mode_sample_collection_method");
  return {
    totalSteps: Number.isSafeInteger(steps) && Number(steps) > 0 ? Number(steps) : undefined,
    collectionMethod: typeof method === "string" ? method : undefined,
  };
}

function child(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null
    ? Object.getOwnPropertyDescriptor(value, name)?.value
    : undefined;
}

async function fileText(file: string): Promise<string> {
  return await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    throw new CommandFailure(`${file}: expected a training config, could not read it (${error.code})`, error);
  });
}

/** What is wrong with a config; undefined where nothing is. */
export function configFault(config: string): string | undefined {
  // YAML 1.1 is what Python's reader takes.
  const documents = parseAllDocuments(config, { version: "1.1" });
  if (!Array.isArray(documents) || documents.length === 0)
    return "expected the training config as YAML, found nothing";
  const [document, ...others] = documents;
  if (!document || others.length > 0) return `expected one YAML document, found ${documents.length}`;
  const [error] = document.errors;
  if (error) return `expected YAML, found a fault in it: ${error.message}`;
  try {
    const value: unknown = document.toJS({ maxAliasCount: 1000 });
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return undefined;
    const found = Array.isArray(value) ? "a list" : JSON.stringify(value);
    return `expected a mapping (as ajet: …), found ${found}`;
  } catch (error) {
    return `expected YAML that can be resolved: ${(error as Error).message}`;
  }
}
