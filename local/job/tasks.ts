/** The tasks of a local run: from a file, or generated. */
import { FaultReport } from "../../cli/push/faults.ts";
import { check } from "../../cli/push/prepare.ts";
import { sourcesOf } from "../../cli/push/sources.ts";
import type { Task } from "../../functions/core/protocol.ts";
import { InputError } from "../input-error.ts";
import { generateProblems } from "../problems/problems.ts";
import type { JobOptions } from "./options.ts";

/** @throws InputError, and the CommandFailure of `sortie push`, which reads the same files */
export async function tasksOf(options: JobOptions): Promise<Task[]> {
  const count = Math.ceil(options.rollouts / options.repeats);
  if (options.tasks === undefined) return generateProblems({ seed: options.seed, count });
  const sources = await sourcesOf([options.tasks], undefined, { input: process.stdin });
  const faults: string[] = [];
  const report = new FaultReport((line) => faults.push(line));
  const checked = await check(sources, wishesOf(options), (fault) => report.add(fault));
  await using spool = checked.spool;
  report.conclude();
  if (checked.faults > 0)
    throw new InputError(
      `${faults.join("\n")}\n${options.tasks}: ${checked.faults} faulty record(s), so nothing was pushed`,
    );
  if (spool.count === 0) throw new InputError(`${options.tasks}: expected at least one task, found none`);
  const tasks: Task[] = [];
  for await (const { task } of spool.read({ limit: count })) tasks.push(task);
  return tasks;
}

/** A trainer that compares the rollouts of a task has none to compare the rest with; undefined where there is no rest. */
export function unevenGroups({
  rollouts,
  repeats,
}: Pick<JobOptions, "rollouts" | "repeats">): string | undefined {
  const rest = rollouts % repeats;
  if (rest === 0) return undefined;
  const [less, more] = [rollouts - rest, rollouts - rest + repeats];
  return (
    `--rollouts ${rollouts} is no multiple of --repeats ${repeats}: the last task has ${rest} of its ${repeats} rollouts. ` +
    `For whole groups, use ${less > 0 ? `${less} or ${more}` : more}`
  );
}

function wishesOf({ map = [], repeats, allowEmptyQuery = false }: JobOptions) {
  return {
    mapping: map,
    run: undefined,
    repeats,
    episodeType: "train" as const,
    discardTimeout: undefined,
    allowEmptyQuery,
  };
}
