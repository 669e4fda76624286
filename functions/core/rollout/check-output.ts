/** What an agent returned, as the engine's JSON will carry it; or why the trainer cannot use it. */
import { describeError, InvalidOutputError, shorten } from "../errors.ts";
import { type EpisodeType, type WorkflowOutput, workflowOutputSchema } from "../protocol.ts";
import { REWARD_BYTES, rewardBytes } from "./fit-output.ts";
import { wellFormed } from "./message.ts";
import { shown } from "./shown.ts";

/** Told what of an output is not reported as the agent gave it, each as `name: found …`. */
export type WarnOfLoss = (what: "log_metrics dropped" | "metadata made text", entries: string[]) => void;

/** How many entries one warning names, and how much of each name. */
const MOST_NAMES = 20;
const NAME_LENGTH = 100;

/**
 * A train reward is a finite number: over null or a list the trainer loses a slot until the next batch. A metric that
 * is not of finite numbers is dropped, and such a number in `metadata` becomes its name as text (JSON would make it
 * null): neither costs the rollout its reward. Throws `InvalidOutputError`.
 */
export function checkOutput(
  value: unknown,
  type: EpisodeType,
  allowUnusual: boolean,
  warn: WarnOfLoss = () => undefined,
): WorkflowOutput {
  if (!isRecord(value)) throw new InvalidOutputError(`expected a WorkflowOutput, found ${shown(value)}`);
  const { reward, is_success = null, metadata = {}, log_metrics = {} } = value;
  const unusual = allowUnusual || type === "eval";
  checkReward(reward, unusual);
  if (is_success !== null && typeof is_success !== "boolean")
    throw new InvalidOutputError(`expected true, false or null as is_success, found ${shown(is_success)}`);
  if (!isRecord(metadata))
    throw new InvalidOutputError(`expected an object as metadata, found ${shown(metadata)}`);
  const output = { reward: (reward ?? null) as WorkflowOutput["reward"], is_success };
  checkRewardSize(output.reward);
  const metrics = keptMetrics(asJson("log_metrics", log_metrics), warn);
  return workflowOutputSchema.parse({ ...output, ...keptMetadata(metadata, warn), log_metrics: metrics });
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function checkReward(reward: unknown, unusual: boolean): void {
  const isList = Array.isArray(reward) && reward.every((one) => Number.isFinite(one));
  const usable = Number.isFinite(reward) || (unusual && (isList || reward === null || reward === undefined));
  if (!usable)
    throw new InvalidOutputError(
      unusual
        ? `expected a finite number, a list of them, or null as reward, found ${shown(reward)}`
        : `expected a finite number as reward, found ${shown(reward)}: the trainer loses a slot over it. ` +
            "Return one number, or set allowUnusualRewards to report a list or null",
    );
  const tooLarge = [reward ?? 0].flat().find((number) => !Number.isFinite(Math.fround(number as number)));
  if (tooLarge !== undefined)
    throw new InvalidOutputError(
      `expected a reward that a 32-bit float holds, found ${shown(tooLarge)}: the trainer would make it infinite`,
    );
}

/** The table holds a reward as it is, however long. */
function checkRewardSize(reward: WorkflowOutput["reward"]): void {
  const bytes = rewardBytes(reward);
  if (Array.isArray(reward) && bytes > REWARD_BYTES)
    throw new InvalidOutputError(
      `expected a reward of at most ${REWARD_BYTES} bytes as JSON, found a list of ${reward.length} numbers, ${bytes} ` +
        "bytes. Return fewer",
    );
}

/** Those that the engine takes: a number, a list of numbers, or an object (newer engines). */
function keptMetrics(metrics: unknown, warn: WarnOfLoss): WorkflowOutput["log_metrics"] {
  if (!isRecord(metrics)) {
    warn("log_metrics dropped", [`log_metrics: expected an object, found ${shown(metrics)}`]);
    return {};
  }
  const faults = Object.entries(metrics).map(([name, metric]) => [name, metric, faultIn(metric)] as const);
  const dropped = faults.flatMap(([name, , fault]) => (fault === undefined ? [] : [named(name, fault)]));
  if (dropped.length > 0) warn("log_metrics dropped", dropped.slice(0, MOST_NAMES));
  const kept = faults.filter(([, , fault]) => fault === undefined);
  return Object.fromEntries(kept.map(([name, metric]) => [name, metric])) as WorkflowOutput["log_metrics"];
}

/** Why a metric cannot be kept; undefined where it can. What `asJson` could not carry is text by now, as `NaN`. */
function faultIn(metric: unknown): string | undefined {
  if (metric instanceof Unreal) return `found ${metric.words}`;
  if (typeof metric === "number") return undefined;
  if (Array.isArray(metric)) {
    const wrong = metric.find((one) => typeof one !== "number");
    if (wrong === undefined) return undefined;
    return `found ${wrong instanceof Unreal ? wrong.words : shown(wrong)} in its list`;
  }
  if (!isRecord(metric)) return `found ${shown(metric)}`;
  const unreal = unrealIn(metric);
  return unreal && `found ${unreal.words} in its object`;
}

function keptMetadata(metadata: Record<string, unknown>, warn: WarnOfLoss): { metadata: object } {
  const carried = asJson("metadata", metadata);
  const entries = Object.entries(isRecord(carried) ? carried : {});
  const changed = entries.flatMap(([name, part]) => {
    const unreal = part instanceof Unreal ? part : unrealIn(part);
    return unreal ? [named(name, `found ${unreal.words}`)] : [];
  });
  if (changed.length > 0) warn("metadata made text", changed.slice(0, MOST_NAMES));
  // An `Unreal` writes itself as its words.
  return { metadata: JSON.parse(JSON.stringify(Object.fromEntries(entries))) };
}

/** A number that JSON has no form for. */
class Unreal {
  readonly words: string;
  constructor(words: string) {
    this.words = words;
  }
  toJSON(): string {
    return this.words;
  }
}

function unrealIn(part: unknown): Unreal | undefined {
  if (part instanceof Unreal) return part;
  if (typeof part !== "object" || part === null) return undefined;
  for (const inner of Object.values(part)) {
    const found = unrealIn(inner);
    if (found) return found;
  }
  return undefined;
}

/** What marks a number that JSON would make null, on its way through JSON: no agent's key. */
const UNREAL_KEY = "\u0000sortie:unreal";

/** As JSON carries it, but NaN and the infinities as `Unreal`. */
function asJson(what: "metadata" | "log_metrics", value: unknown): unknown {
  try {
    const text = JSON.stringify(value, (_key, part: unknown) =>
      typeof part === "number" && !Number.isFinite(part) ? { [UNREAL_KEY]: String(part) } : part,
    );
    if (text === undefined) return undefined;
    return JSON.parse(text, (_key, part: unknown) => {
      const words = isRecord(part) ? part[UNREAL_KEY] : undefined;
      return typeof words === "string" ? new Unreal(words) : wellFormed(part);
    });
  } catch (error) {
    throw new InvalidOutputError(
      `expected ${what} that JSON can carry, found ${describeError(error, 200)}. Return plain objects, arrays, ` +
        "strings, numbers, booleans or null",
    );
  }
}

function named(name: string, fault: string): string {
  return `${shorten(name, NAME_LENGTH)}: ${fault}`;
}
