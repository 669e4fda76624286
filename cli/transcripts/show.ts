/** `sortie rollout … --chat`. */
import type { Transcript } from "../../functions/core/transcript/transcript.ts";
import type { Deployment } from "../deployment.ts";
import { CommandFailure } from "../failures.ts";
import { type Io, printJson } from "../io.ts";
import { type RolloutTold, stateText } from "../rollout-text.ts";
import { printable } from "../terminal-text.ts";
import { neededTranscripts } from "./command-place.ts";
import { folderPlace } from "./place.ts";
import { createTranscriptReader } from "./reader.ts";
import { chatText } from "./text.ts";

/** A rollout and the transcripts of its attempts; without an item where there is no table to ask. */
export interface Chats {
  readonly key: string;
  readonly fleet: string;
  readonly item?: RolloutTold;
  readonly chats: readonly Transcript[];
}

export async function withChats(
  deployment: Deployment,
  items: readonly RolloutTold[],
): Promise<(Chats & { readonly item: RolloutTold })[]> {
  if (items.length === 0) return [];
  const reader = await neededTranscripts(deployment);
  return await Promise.all(
    items.map(async (item) => {
      const { fleet, key } = item;
      return { fleet, key, item, chats: await reader.ofRollout(fleet, key) };
    }),
  );
}

/** Of a folder, where a run on this machine has left them or where somebody has copied them. */
export async function chatsIn(folder: string, key: string, fleet: string | undefined): Promise<Chats[]> {
  const found = await createTranscriptReader(folderPlace(folder)).ofTask(key);
  const wanted = found.filter(({ extra }) => fleet === undefined || extra.fleet === fleet);
  if (wanted.length === 0)
    throw new CommandFailure(
      `expected transcripts of ${JSON.stringify(key)} in ${folder}, found none: check the key, or the folder`,
    );
  const byRollout = Map.groupBy(wanted, ({ extra }) => `${extra.fleet} ${extra.rollout}`);
  return [...byRollout.values()].flatMap((chats) => {
    const [first] = chats;
    return first ? [{ key: first.extra.rollout, fleet: first.extra.fleet, chats }] : [];
  });
}

export function showChats(all: readonly Chats[], { json }: { json?: boolean }, io: Io): void {
  if (json)
    printJson(
      io,
      all.flatMap(({ chats }) => chats),
    );
  else io.out(all.map((one) => chatsText(one, io)).join("\n"));
}

function chatsText({ key, fleet, item, chats }: Chats, io: Io): string {
  const state = item ? `: ${stateText(item)}` : "";
  const title = io.style("bold", `Rollout ${printable(key)} of fleet ${fleet}${state}`);
  const attempts = chats.map((chat, index) => chatText(chat, index + 1, io));
  return [`${title}\n`, ...attempts, ...missingText(item, chats)].join("\n");
}

/** Attempts of which the table knows and nothing is kept. */
function missingText(item: RolloutTold | undefined, chats: readonly Transcript[]): string[] {
  const kept = new Set(chats.map(({ trajectory_id: id }) => id));
  const missing = item?.history.filter(({ id }) => !kept.has(id)) ?? [];
  if (missing.length === 0 && (chats.length > 0 || item === undefined)) return [];
  const which = missing.map(({ id, reason }) => `${printable(id)} (${reason})`).join(", ");
  return [
    `Nothing is kept of ${which === "" ? "this rollout: no attempt of it has ended" : `attempt ${which}: its function may have died, the setting transcripts may not keep it, or it is older than transcriptDays`}.\n`,
  ];
}
