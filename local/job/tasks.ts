/** The tasks of a local run: from a file, or generated. */
import { readFile } from "node:fs/promises";
import type { Task } from "../../functions/core/protocol.ts";
import { InputError } from "../input-error.ts";
import { generateProblems } from "../problems/problems.ts";
import type { JobOptions } from "./options.ts";
import { parseTaskLines } from "./task-lines.ts";

export async function tasksOf(options: JobOptions): Promise<Task[]> {
  const count = Math.ceil(options.rollouts / options.repeats);
  if (options.tasks === undefined) return generateProblems({ seed: options.seed, count });
  const { tasks, faults } = parseTaskLines(await readText(options.tasks));
  if (faults.length > 0) {
    const shown = faults.slice(0, 20).map(({ line, fault }) => `  line ${line}: ${fault}`);
    throw new InputError(
      `${options.tasks}: ${faults.length} faulty line(s), so nothing was pushed:\n${shown.join("\n")}`,
    );
  }
  if (tasks.length === 0) throw new InputError(`${options.tasks}: expected one task a line, found none`);
  return tasks.slice(0, count);
}

async function readText(file: string): Promise<string> {
  return await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    throw new InputError(`${file}: expected a JSONL file of tasks, could not read it (${error.code})`);
  });
}
