/** `sortie dead list` and `show`: letters are lent, and come back. */

import { type Io, printJson } from "../io.ts";
import { factsOf, type LetterFacts } from "./letter.ts";
import type { Letter } from "./letters.ts";
import { type DeadOptions, LOOK_SECONDS, type Place } from "./place.ts";
import { visitLetters } from "./select.ts";
import { addToGroups, type Group, groupsText, letterText } from "./text.ts";

const removedNone = async (): Promise<readonly Letter[]> => [];

export async function list({ fleet, letters }: Place, { reason, json }: DeadOptions, io: Io): Promise<void> {
  const groups = new Map<string, Group>();
  await visitLetters(letters, { reason, hideSeconds: LOOK_SECONDS }, async (some) => {
    for (const letter of some) addToGroups(groups, factsOf(letter));
    return await removedNone();
  });
  const sorted = [...groups.values()].sort((a, b) => b.count - a.count || a.reason.localeCompare(b.reason));
  const total = sorted.reduce((sum, { count }) => sum + count, 0);
  if (json) printJson(io, { fleet: fleet.name, letters: total, reasons: sorted });
  else io.out(groupsText(fleet.name, sorted, io.style));
}

export async function show({ fleet, letters }: Place, options: DeadOptions, io: Io): Promise<void> {
  const shown: (LetterFacts & { body: string })[] = [];
  await visitLetters(letters, { ...options, hideSeconds: LOOK_SECONDS }, async (some) => {
    shown.push(...some.map((letter) => ({ ...factsOf(letter), body: letter.body })));
    return await removedNone();
  });
  if (options.json) printJson(io, shown);
  else if (shown.length === 0) io.out(`Fleet ${fleet.name} has no such dead letters.\n`);
  else
    io.out(
      shown.map(({ body, ...facts }) => letterText(facts, options.body ? body : undefined, io)).join(""),
    );
}
