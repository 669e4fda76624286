/** A result that fits the table: metadata and log metrics are shortened, reward and flags never. */
import type { WorkflowOutput } from "./protocol.ts";

/** An item holds 400 KB; the rest is for the rollout's history. */
export const OUTPUT_BYTES = 300_000;

/**
 * The rule: while the output is too large, the largest entry of `metadata` is replaced by a note of its size; then the
 * largest of `log_metrics` are dropped. Resolves to the output and the names of what was shortened.
 */
export function fitOutput(
  output: WorkflowOutput,
  limit = OUTPUT_BYTES,
): { output: WorkflowOutput; shortened: string[] } {
  const metadata = { ...output.metadata };
  const metrics = { ...output.log_metrics };
  const shortened: string[] = [];
  let excess = jsonBytes(output) - limit;
  for (const [name, size] of bySize(metadata)) {
    if (excess <= 0) break;
    metadata[name] = `left out: ${size} bytes`;
    shortened.push(`metadata.${name}`);
    excess -= size - jsonBytes(metadata[name]);
  }
  for (const [name, size] of bySize(metrics)) {
    if (excess <= 0) break;
    delete metrics[name];
    shortened.push(`log_metrics.${name}`);
    excess -= size;
  }
  // Names alone can be too many as well.
  const kept = excess > 0 ? {} : metadata;
  return { output: { ...output, metadata: kept, log_metrics: metrics }, shortened };
}

function bySize(entries: Record<string, unknown>): [string, number][] {
  return Object.entries(entries)
    .map(([name, value]): [string, number] => [name, jsonBytes(value)])
    .sort(([, a], [, b]) => b - a);
}

function jsonBytes(value: unknown): number {
  return new TextEncoder().encode(JSON.stringify(value)).length;
}
