/** A result that fits the table: metadata and log metrics are shortened, reward and flags never. */
import type { WorkflowOutput } from "../protocol.ts";

/** An item holds 400 KB; the rest is for the rollout's history. */
export const OUTPUT_BYTES = 300_000;
/** The reward outlives the result, in the history; a list of numbers takes up to twice its JSON there. */
export const REWARD_BYTES = 50_000;
/** How many of the shortened names are told, and how much of each. */
const MOST_NAMES = 20;
const NAME_LENGTH = 100;

/**
 * The rule: while the output is too large, the largest entry of `metadata` is replaced by a note of its size; where the
 * names alone are too many, `metadata` is left out. `log_metrics` are dropped, the largest first, only where they would
 * be too large by themselves. Resolves to the output and the names of what was shortened, the first twenty.
 */
export function fitOutput(
  output: WorkflowOutput,
  limit = OUTPUT_BYTES,
): { output: WorkflowOutput; shortened: string[] } {
  if (jsonBytes(output) <= limit) return { output, shortened: [] };
  const bare = { ...output, metadata: {}, log_metrics: {} };
  const metrics = fitEntries(output.log_metrics, limit - jsonBytes(bare), () => undefined);
  const withMetrics = { ...bare, log_metrics: metrics.kept as WorkflowOutput["log_metrics"] };
  const room = limit - jsonBytes(withMetrics);
  const metadata = fitEntries(output.metadata, room, (size) => `left out: ${size} bytes`);
  const shortened = [
    ...metadata.shortened.map((name) => `metadata.${name}`),
    ...metrics.shortened.map((name) => `log_metrics.${name}`),
  ];
  return {
    output: { ...withMetrics, metadata: metadata.kept },
    shortened: shortened.slice(0, MOST_NAMES).map((name) => name.slice(0, NAME_LENGTH).toWellFormed()),
  };
}

/** Bytes of an ended rollout's output that its item keeps: each further KB costs a write unit at every change. */
const KEPT_BYTES = 2000;

/** What is kept of an output beside its reward, as JSON: `is_success`, `metadata`, `log_metrics`; undefined where none has anything. */
export function keptOutput(output: WorkflowOutput): string | undefined {
  const { is_success, metadata, log_metrics } = fitOutput({ ...output, reward: null }, KEPT_BYTES).output;
  const isEmpty = [metadata, log_metrics].every((entries) => Object.keys(entries).length === 0);
  return isEmpty && is_success == null ? undefined : JSON.stringify({ is_success, metadata, log_metrics });
}

/** Puts `note` in the place of the largest values, or takes them out, until all fit into `room` bytes of JSON. */
function fitEntries(
  entries: Record<string, unknown>,
  room: number,
  note: (size: number) => string | undefined,
): { kept: Record<string, unknown>; shortened: string[] } {
  const kept = { ...entries };
  const shortened: string[] = [];
  let excess = jsonBytes(entries) - "{}".length - room;
  for (const [name, size] of bySize(entries)) {
    if (excess <= 0) break;
    const text = note(size);
    const saved =
      text === undefined ? jsonBytes({ [name]: entries[name] }) - "{}".length : size - jsonBytes(text);
    // From here on a note takes more room than what it stands for.
    if (saved <= 0) break;
    if (text === undefined) delete kept[name];
    else kept[name] = text;
    shortened.push(name);
    excess -= saved;
  }
  return excess > 0 ? { kept: {}, shortened: Object.keys(entries) } : { kept, shortened };
}

function bySize(entries: Record<string, unknown>): [string, number][] {
  return Object.entries(entries)
    .map(([name, value]): [string, number] => [name, jsonBytes(value)])
    .sort(([, a], [, b]) => b - a);
}

/** Bytes of a reward as JSON; a list has no other bound. */
export function rewardBytes(reward: WorkflowOutput["reward"]): number {
  return jsonBytes(reward);
}

function jsonBytes(value: unknown): number {
  return new TextEncoder().encode(JSON.stringify(value)).length;
}
