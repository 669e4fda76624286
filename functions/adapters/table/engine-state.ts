/** What is wanted of an engine and what is known of it: two items beside its snapshots. */
import * as z from "zod";
import { SettingsError } from "../../contract/settings-error.ts";
import type { AgreeRequest } from "../../core/engine-lifecycle/agree.ts";
import type { EngineCode } from "../../core/engine-lifecycle/engine-code.ts";
import {
  configHash,
  type Desired,
  desiredSchema,
  type EngineStateStore,
  type Observed,
  observedSchema,
} from "../../core/engine-lifecycle/engine-state.ts";
import { expiresTtl, type TableOptions } from "./client.ts";
import { type Condition, conditionalPut, getItem } from "./conditional-put.ts";
import { keepNamedCode } from "./engine-code.ts";
import { agreeKey, desiredKey, observedKey } from "./engine-keys.ts";

/** Bytes of a config as UTF-8: an item holds 400 KB, and each tick reads it. */
export const CONFIG_BYTES = 200_000;
/** Days that a request to agree stands, though it is about one step alone. */
const AGREE_TTL_DAYS = 1;
/** Days that a record outlives its last tick. */
const OBSERVED_TTL_DAYS = 30;

export function createEngineStateStore(options: TableOptions): EngineStateStore {
  return {
    async readDesired(engine) {
      const found = await getItem(options, desiredKey(engine));
      if (found === undefined) return { desired: undefined };
      const parsed = desiredSchema.safeParse(found);
      if (parsed.success) return asChecked(parsed.data);
      const faults = parsed.error.issues.map(
        ({ path, message }) => `${path.join(".") || "item"}: ${message}`,
      );
      const what = `expected a desired state, found an item with faults (${faults.join("; ")})`;
      return { unreadable: `${what}: set it with the sortie command` };
    },
    async readObserved(engine) {
      const found = await getItem(options, observedKey(engine));
      return found && observedSchema.parse(found);
    },
    async writeObserved(engine, previous, next) {
      const expires_ttl = expiresTtl(next.looked_at, OBSERVED_TTL_DAYS);
      const item = { ...observedKey(engine), ...next, expires_ttl };
      const outcome = await conditionalPut(options, item, standsAs(previous, next));
      // A write whose answer was lost took place after all: no other tick has this token.
      return outcome.put || isWrite(outcome.found, next);
    },
  };
}

/** A config that was changed by hand was checked by nobody. */
async function asChecked(desired: Desired): Promise<{ desired: Desired } | { unreadable: string }> {
  if (desired.state === "stopped") return { desired };
  const found = await configHash(desired.config);
  if (found === desired.hash) return { desired };
  const what = `expected a config with SHA-256 ${desired.hash}, found one with ${found}`;
  return { unreadable: `${what}: set it with the sortie command, which checks it` };
}

function standsAs(previous: Observed | undefined, { token }: Observed): Condition {
  if (previous === undefined) return { expression: "attribute_not_exists(pk)" };
  return {
    expression: "#version = :version AND #token <= :token",
    names: { "#version": "version", "#token": "token" },
    values: { ":version": previous.version, ":token": token },
  };
}

function isWrite(found: Record<string, unknown> | undefined, { version, token }: Observed): boolean {
  return found?.["version"] === version && found["token"] === token;
}

/** What a person asks for. `restart`: also stops first what runs. */
export type Wish =
  | {
      readonly state: "running";
      readonly config: string;
      /** `ajet.trainer_common.total_training_steps` of the config, where it has one. */
      readonly total_steps?: number | undefined;
      readonly restart?: string | undefined;
      /** What `writeCode` stored. */
      readonly code?: EngineCode | undefined;
    }
  | { readonly state: "stopped" };

/**
 * Sets what is wanted of an engine, as the next generation. The config must have been checked: YAML, a mapping.
 * @throws SettingsError where the config is empty or too large, or others keep changing the state at the same time
 */
export async function setDesired(
  options: TableOptions,
  engine: string,
  wish: Wish,
  by: { readonly now: number; readonly name?: string | undefined },
): Promise<Desired> {
  const wanted = wish.state === "running" ? { ...wish, hash: await checkedHash(wish.config) } : wish;
  for (let tries = 0; tries < 5; tries += 1) {
    const previous = await getItem(options, desiredKey(engine));
    const generation = (Number(previous?.["generation"]) || 0) + 1;
    const next = desiredSchema.parse({ v: 1, ...wanted, generation, set_at: by.now, set_by: by.name });
    const item = { ...desiredKey(engine), ...next };
    if (!(await conditionalPut(options, item, sameGeneration(previous))).put) continue;
    await keepNamedCode(options, engine, previous, by.now);
    return next;
  }
  throw new SettingsError(
    ["expected nobody else to set it at the same time, found five changes in a row: try again"],
    `the desired state of engine ${engine} could not be set`,
  );
}

function sameGeneration(previous: Record<string, unknown> | undefined): Condition {
  if (previous === undefined) return { expression: "attribute_not_exists(pk)" };
  const names = { "#generation": "generation" };
  // An item written by hand may lack it; it is replaced.
  if (previous["generation"] === undefined) return { expression: "attribute_not_exists(#generation)", names };
  return { expression: "#generation = :left", names, values: { ":left": previous["generation"] } };
}

async function checkedHash(config: string): Promise<string> {
  const bytes = new TextEncoder().encode(config).length;
  const faults = [
    ...(config.trim() === "" ? ["expected the training config as YAML, found nothing: check the file"] : []),
    ...(bytes > CONFIG_BYTES
      ? [`expected at most ${CONFIG_BYTES} bytes, found ${bytes}: keep data out of the config`]
      : []),
  ];
  if (faults.length > 0) throw new SettingsError(faults, "the training config cannot be used");
  return configHash(config);
}

const agreeSchema = z.object({ v: z.literal(1), step: z.number(), at: z.number() });

/** The newest request to agree to a weight sync; undefined where there is none, or nobody can read it. */
export async function readAgreeRequest(
  options: TableOptions,
  engine: string,
): Promise<AgreeRequest | undefined> {
  return agreeSchema.safeParse(await getItem(options, agreeKey(engine))).data;
}

/** Asks that the weight sync of this step begin; a newer request replaces an older one. */
export async function setAgreeRequest(
  options: TableOptions,
  engine: string,
  { step, at }: AgreeRequest,
): Promise<void> {
  const expires_ttl = expiresTtl(at, AGREE_TTL_DAYS);
  const item = { ...agreeKey(engine), v: 1, step, at, expires_ttl };
  const older = {
    expression: "attribute_not_exists(pk) OR #at <= :at",
    names: { "#at": "at" },
    values: { ":at": at },
  };
  await conditionalPut(options, item, older);
}
