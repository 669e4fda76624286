/** Who held which episode when, from the ledger alone. */
import type { LedgerEntry } from "../../engine/ledger.ts";

export interface Holding {
  readonly clientUuid: string;
  readonly episodeUuid: string;
  readonly taskId: string;
  /** Unix ms of the claim. */
  readonly from: number;
  /** Unix ms when it was ended, aborted, taken back or wiped; undefined while it is open. */
  to: number | undefined;
  /** The ledger's word for how. */
  how: LedgerEntry["kind"] | undefined;
}

/** Calls `visit` for each entry before it has its effect on `holders` (by episode). */
export function replay(
  ledger: readonly LedgerEntry[],
  visit: (entry: LedgerEntry, holders: ReadonlyMap<string, Holding>) => void = () => undefined,
): Holding[] {
  const all: Holding[] = [];
  const holders = new Map<string, Holding>();
  const release = (episode: string, { at, kind }: LedgerEntry) => {
    const holding = holders.get(episode);
    if (!holding) return;
    holding.to = at;
    holding.how = kind;
    holders.delete(episode);
  };
  for (const entry of ledger) {
    visit(entry, holders);
    if (entry.kind === "claim" && entry.granted) {
      const { clientUuid, episodeUuid, taskId, at } = entry;
      const holding = { clientUuid, episodeUuid, taskId, from: at, to: undefined, how: undefined };
      all.push(holding);
      holders.set(episodeUuid, holding);
    }
    if (entry.kind === "restart" && !entry.keptState)
      for (const episode of [...holders.keys()]) release(episode, entry);
    const released = releasedBy(entry);
    if (released !== undefined) release(released, entry);
  }
  return all;
}

function releasedBy(entry: LedgerEntry): string | undefined {
  if (entry.kind === "output" || entry.kind === "discard" || entry.kind === "wiped") return entry.episodeUuid;
  if (entry.kind === "end" && entry.accepted) return entry.episodeUuid;
  if (entry.kind === "abort" && entry.effect !== "none") return entry.episodeUuid;
  return undefined;
}
