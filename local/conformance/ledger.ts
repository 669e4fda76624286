/** What reached the trainer, in its own words: a JSON list, or one object a line. */
import * as z from "zod";
import type { Ledger } from "../engine/ledger.ts";
import { InputError } from "../input-error.ts";

const outputSchema = z.object({
  /** Entries of another kind are passed over. */
  kind: z.string().default("output"),
  episode_uuid: z.string(),
  /** Absent: counted. */
  outcome: z.string().default("counted"),
  reward: z.unknown(),
});
const otherSchema = z.object({ kind: z.string().refine((kind) => kind !== "output") });
const listSchema = z.array(z.union([otherSchema, outputSchema]));
export interface LedgerOutput {
  readonly episode: string;
  readonly outcome: string;
  readonly reward: unknown;
}

export function ledgerOutputs(text: string): LedgerOutput[] {
  const entries = listSchema.parse(listOf(text));
  return entries.flatMap((entry) =>
    "episode_uuid" in entry && entry.kind === "output"
      ? [{ episode: entry.episode_uuid, outcome: entry.outcome, reward: entry.reward }]
      : [],
  );
}

function listOf(text: string): unknown {
  if (!text.trimStart().startsWith("["))
    return text.split("\n").flatMap((line) => (line.trim() === "" ? [] : [JSON.parse(line)]));
  return JSON.parse(text);
}

/** @throws InputError where it cannot be had */
export async function fetchLedger(url: string): Promise<LedgerOutput[]> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(30_000) });
    if (!response.ok) throw new Error(`HTTP ${response.status}`);
    return ledgerOutputs(await response.text());
  } catch (error) {
    const expected =
      'expected a JSON list of {"episode_uuid", "reward", "outcome"}, or one such object a line';
    throw new InputError(`--ledger ${url}: ${expected}, could not read it: ${(error as Error).message}`);
  }
}

export function standInOutputs(ledger: Ledger): LedgerOutput[] {
  return ledger.of("output").map(({ episodeUuid, outcome, output: { reward } }) => ({
    episode: episodeUuid,
    outcome,
    reward,
  }));
}
