/** `npm start`: the main job on this machine. Exit code 0 when every rollout is accounted for, else 1. */
import { SettingsError } from "../functions/core/errors.ts";
import { readOptions } from "./job/options.ts";
import { runJob } from "./job/run.ts";
import { renderSummary } from "./job/summary.ts";
import { InputError, tasksOf } from "./job/tasks.ts";

const stop = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const)
  process.once(signal, () => {
    process.stderr.write("\nstopping everything …\n");
    stop.abort(new Error(`stopped by ${signal}`));
  });

try {
  const options = readOptions(process.argv);
  const tasks = await tasksOf(options);
  const { summary, faults, logFile } = await runJob(options, tasks, stop.signal);
  process.stderr.write(`${renderSummary(summary)}\n`);
  for (const fault of faults) process.stderr.write(`not accounted for: ${fault}\n`);
  if (faults.length > 0) process.stderr.write(`what the functions said: ${logFile}\n`);
  if (options.json) process.stdout.write(`${JSON.stringify(summary)}\n`);
  process.exitCode = faults.length === 0 && !stop.signal.aborted ? 0 : 1;
} catch (error) {
  const known = error instanceof InputError || error instanceof SettingsError || stop.signal.aborted;
  process.stderr.write(`${known ? (error as Error).message : (error as Error).stack}\n`);
  process.exitCode = 1;
}
