/** `sortie dead purge`. */
import { readDepth } from "../../functions/adapters/queue/depth.ts";
import { CommandFailure } from "../failures.ts";
import { type Io, printJson } from "../io.ts";
import { counted } from "../push/text.ts";
import { type LetterQueue, purge, removeLetter } from "./letters.ts";
import { type DeadOptions, type Place, settledAll, WORK_SECONDS } from "./place.ts";
import { visitLetters } from "./select.ts";

export async function purgeAll({ fleet, letters }: Place, options: DeadOptions, io: Io): Promise<void> {
  const { reason, yes } = options;
  const held = await readDepth(letters.client, letters.queueUrl);
  const what =
    reason === undefined
      ? `all ${held.visible + held.in_flight} dead letters`
      : `the dead letters of reason ${reason}`;
  if (!yes && !(await isConfirmed(`Remove ${what} of fleet ${fleet.name} for good? [y/N] `, io)))
    throw new CommandFailure("nothing was removed: expected a yes, or --yes where there is nobody to ask");
  const removed = reason === undefined ? await purgeWhole(letters, held) : await purgeSome(letters, reason);
  if (options.json) printJson(io, { fleet: fleet.name, removed });
  else io.out(`${counted(removed, "dead letter")} of fleet ${fleet.name} removed.\n`);
}

async function isConfirmed(question: string, io: Io): Promise<boolean> {
  return /^y(es)?$/i.test((await io.ask(question))?.trim() ?? "");
}

async function purgeWhole(
  letters: LetterQueue,
  held: { visible: number; in_flight: number },
): Promise<number> {
  await purge(letters);
  return held.visible + held.in_flight;
}

async function purgeSome(letters: LetterQueue, reason: string): Promise<number> {
  let removed = 0;
  await visitLetters(letters, { reason, hideSeconds: WORK_SECONDS }, async (some) => {
    await settledAll(some.map(async (letter) => await removeLetter(letters, letter)));
    removed += some.length;
    return some;
  });
  return removed;
}
