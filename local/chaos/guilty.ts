/** Rollouts whose agent does the same harm at every attempt: so many of each kind, anywhere among the others. */
import type { Random } from "../../functions/core/clock.ts";
import { type Ailment, ailments } from "./task-facts.ts";

export type GuiltyCounts = Readonly<Partial<Record<Ailment, number>>>;

/** Reads a list such as `exit=40,spin=2`. @throws RangeError */
export function guiltyCounts(list: string): GuiltyCounts {
  return Object.fromEntries(
    list.split(",").map((part) => {
      const [name = "", count = ""] = part.trim().split("=");
      if (isAilment(name) && /^[1-9]\d{0,5}$/.test(count)) return [name, Number(count)];
      throw new RangeError(
        `expected parts like exit=40, each with one of ${ailments.join(", ")} and a whole number above 0, found "${part}".`,
      );
    }),
  );
}

/** Who is guilty of what, by place among `rollouts`. @throws RangeError where there are fewer rollouts */
export function chooseGuilty(counts: GuiltyCounts, rollouts: number, random: Random): Map<number, Ailment> {
  const harms = ailments.flatMap((ailment) => Array.from({ length: counts[ailment] ?? 0 }, () => ailment));
  if (harms.length > rollouts)
    throw new RangeError(`expected at most ${rollouts} guilty rollouts, found ${harms.length}.`);
  const places = Array.from({ length: rollouts }, (_, place) => [random(), place] as const)
    .toSorted(([a], [b]) => a - b)
    .map(([, place]) => place);
  return new Map(harms.map((ailment, index) => [places[index] ?? 0, ailment]));
}

function isAilment(name: string): name is Ailment {
  return (ailments as readonly string[]).includes(name);
}
