/** 6. Fenced: nobody ends or aborts an episode that is not his own any more. */
import type { EntryOf } from "../../engine/ledger.ts";
import type { Check, Evidence, Output, Violation } from "./evidence.ts";
import { type Holding, replay } from "./holdings.ts";

/** An output that was accepted in time may reach the trainer so long after the engine took the episode back. */
const UNDER_WAY_MS = 60_000;

export function checkFenced({ ledger }: Evidence): Check {
  const ends = ledger.filter((entry) => entry.kind === "end");
  const aborts = ledger.filter((entry) => entry.kind === "abort");
  const outputs = ledger.filter((entry) => entry.kind === "output");
  const holdings = Map.groupBy(replay(ledger), ({ episodeUuid }) => episodeUuid);
  const counts = {
    ends: ends.filter(({ accepted }) => accepted).length,
    "ends refused": ends.filter(({ accepted }) => !accepted).length,
    aborts: aborts.filter(({ effect }) => effect !== "none").length,
    "aborts without effect": aborts.filter(({ effect }) => effect === "none").length,
  };
  const violations = [
    ...outputs.flatMap((output) => strangersEnd(output, holdings.get(output.episodeUuid) ?? [])),
    ...aborts.flatMap(strangersAbort),
  ];
  return { number: 6, title: "fenced", counts, violations };
}

function strangersEnd({ clientUuid, episodeUuid, at }: Output, holdings: readonly Holding[]): Violation[] {
  const own = holdings.findLast((holding) => holding.clientUuid === clientUuid && holding.from <= at);
  const stillHeld = own !== undefined && (own.to === undefined || own.to >= at);
  const underWay = own?.how === "discard" && at - (own.to ?? 0) < UNDER_WAY_MS;
  if (stillHeld || underWay) return [];
  const holder = holdings.find(({ from, to = at }) => from <= at && to >= at)?.clientUuid ?? "nobody";
  return [{ episode: episodeUuid, what: `ended by ${clientUuid}, held by ${holder}` }];
}

function strangersAbort({ clientUuid, episodeUuid, holder, effect }: EntryOf<"abort">): Violation[] {
  if (effect === "none" || holder === "" || holder === clientUuid) return [];
  return [{ episode: episodeUuid, what: `aborted by ${clientUuid}, held by ${holder}` }];
}
