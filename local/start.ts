/** `npm start`: the main job on this machine. Exit code 0 when every rollout is accounted for, else 1. */
import { relative } from "node:path";
import { CommandFailure } from "../cli/failures.ts";
import type { Task } from "../functions/core/protocol.ts";
import { InputError } from "./input-error.ts";
import { startAgent } from "./job/agent.ts";
import { type JobOptions, readOptions } from "./job/options.ts";
import { runJob } from "./job/run.ts";
import { equalRewards, leftWords, lookAt, renderSummary } from "./job/summary.ts";
import { tasksOf, unevenGroups } from "./job/tasks.ts";
import { serve } from "./serve.ts";

const stop = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const)
  process.once(signal, () => {
    process.stderr.write("\nstopping everything …\n");
    stop.abort(new Error(`stopped by ${signal}`));
  });

try {
  const asked = readOptions(process.argv);
  const tasks = await tasksOf(asked);
  const { agent, endpoints, close } = await startAgent(asked, (line) =>
    process.stderr.write(`agent: ${line}\n`),
  );
  const options = { ...asked, agent, endpoints };
  try {
    if (options.serve) await serve(options, tasks, stop.signal);
    else await runToTheEnd(options, tasks);
  } finally {
    await close();
  }
} catch (error) {
  process.stderr.write(`${wordsFor(error)}\n`);
  process.exitCode = 1;
}

async function runToTheEnd(options: JobOptions, tasks: Task[]): Promise<void> {
  const expected = Math.min(options.rollouts, tasks.length * options.repeats);
  process.stderr.write(`${expected} rollouts on this machine; the functions are being built …\n`);
  const uneven = unevenGroups(options);
  if (uneven !== undefined) process.stderr.write(`warning: ${uneven}\n`);
  const { summary, faults, stopped, logFile, example, transcripts } = await runJob(
    options,
    tasks,
    stop.signal,
  );
  // With --json, standard output is that alone.
  (options.json ? process.stderr : process.stdout).write(`${renderSummary(summary)}\n`);
  const isWhole = stopped.length === 0 && !stop.signal.aborted;
  const remarks = isWhole
    ? [...equalRewards(summary), ...faults.map((fault) => `not accounted for: ${fault}`)]
    : [leftWords(summary), ...stopped];
  remarks.push(...lookAt(example, relative(process.cwd(), transcripts) || transcripts));
  for (const remark of remarks) process.stderr.write(`${remark}\n`);
  if (logFile !== undefined && faults.length > 0)
    process.stderr.write(`what the functions said: ${logFile}\n`);
  if (options.json) process.stdout.write(`${JSON.stringify(summary)}\n`);
  process.exitCode = faults.length === 0 && isWhole ? 0 : 1;
}

/** Whatever fails after Ctrl-C fails because of it. */
function wordsFor(error: unknown): string | undefined {
  if (stop.signal.aborted) return (stop.signal.reason as Error).message;
  return error instanceof InputError || error instanceof CommandFailure
    ? error.message
    : (error as Error).stack;
}
