/** `sortie agent try`, in a process of its own: the agent may do to it what it likes. Its argument is JSON. */
import { readFile } from "node:fs/promises";
import { CommandFailure } from "../../cli/failures.ts";
import { isAddress } from "../agent/service.ts";
import { InputError } from "../input-error.ts";
import { readOptions } from "../job/options.ts";
import { tasksOf } from "../job/tasks.ts";
import { type TryOptions, tryAgent } from "./run.ts";
import { watchEventLoop } from "./watchdog.ts";

type Given = Omit<TryOptions, "apiKey"> & {
  readonly tasks?: string;
  readonly limit: number;
  readonly apiKeyEnv?: string;
};

/** As in a function; less where a task may not take as long. */
const BLOCK_SECONDS = 20;

try {
  const { tasks: file, limit, apiKeyEnv, ...options } = JSON.parse(process.argv[2] ?? "") as Given;
  if (!isAddress(options.agent))
    await readFile(options.agent).catch((error: NodeJS.ErrnoException) => {
      throw new InputError(`${options.agent}: expected an agent's file, could not read it (${error.code})`);
    });
  const wished = [
    "--rollouts",
    String(limit),
    "--repeats",
    "1",
    ...(file === undefined ? [] : ["--tasks", file]),
  ];
  const tasks = await tasksOf(readOptions(["node", "try", ...wished]));
  const apiKey = apiKeyEnv === undefined ? undefined : process.env[apiKeyEnv];
  if (apiKeyEnv !== undefined && !apiKey)
    throw new InputError(`expected the model's key in the variable ${apiKeyEnv}, found nothing: set it`);
  const stopWatching = watchEventLoop(Math.min(BLOCK_SECONDS, options.timeoutSeconds));
  const rewarded = await tryAgent(tasks, { ...options, apiKey }, (text) => process.stdout.write(text));
  stopWatching();
  // What the agent left running is of no interest any more.
  process.exit(rewarded ? 0 : 1);
} catch (error) {
  const isExpected = error instanceof InputError || error instanceof CommandFailure;
  process.stderr.write(`sortie: ${isExpected ? error.message : (error as Error).stack}\n`);
  process.exit(1);
}
