/** `sortie push`: tasks from files into a fleet's queue. */
import { type Command, InvalidArgumentError, Option } from "commander";
import { InvalidMessageError } from "../../functions/core/errors.ts";
import { decodeMessage } from "../../functions/core/rollout/message.ts";
import { addCommonOptions } from "../connection.ts";
import type { Io } from "../io.ts";
import { seconds, whole } from "../options.ts";
import { parseMap } from "./mapping.ts";
import { type PushOptions, push } from "./push.ts";
import { formats } from "./records.ts";

const HELP = `
A file is JSONL (one AgentJet task per line), a JSON array of
tasks, CSV with a header, or Parquet, each also as .gz or .zst.
In CSV, metadata.<name> is a column of the metadata. All tasks
are checked first: if one is faulty, nothing is pushed.

Pushing again is safe. A rollout is named by run, train or eval,
repeat and task_id, and none runs twice. Without --run the run's
name is made from the tasks, so that the same tasks are the same
run. To run them once more, name another run.

With --map, a record without a task_id gets one made from its
content, and columns that are not named are left out.

Examples:
  $ sortie push train.jsonl --repeats 4
  $ sortie push gsm8k.parquet --run monday --repeats 8 \\
      --map main_query=question,metadata.answer=answer
  $ sortie push train.jsonl --shuffle 7 --limit 100 --dry-run
  $ jq -c '.[] | select(.level > 3)' math.json \\
      | sortie push - --fleet math --eval
  $ sortie push train.jsonl --local`;

export function registerPush(program: Command, io: Io): void {
  const command = program
    .command("push")
    .description("Pushes tasks to a fleet's queue, each as often as --repeats says.")
    .argument("<file...>", "files of tasks; - reads standard input")
    .option("--fleet <name>", "the fleet, where there are several")
    .option("--repeats <n>", "rollouts of each task (GRPO's group)", whole(1), 1)
    .option("--run <name>", "the run's name; rollouts of one run are told apart by task and repeat", runName)
    .option("--eval", "push eval rollouts, which the trainer does not learn from")
    .option("--map <pairs>", "fields of the task from fields of the record: target=source,…", parseMap)
    .option("--limit <n>", "push so many tasks at most", whole(1))
    .option("--shuffle <seed>", "push in another order, the same for the same seed", whole(0))
    .option(
      "--discard-timeout <s>",
      "seconds without a model call after which the engine takes an episode back",
      seconds,
    )
    .addOption(
      new Option("--format <format>", "of the files; else their names or first characters tell").choices(
        formats,
      ),
    )
    .option("--skip-invalid", "push the sound tasks although others are faulty")
    .option("--allow-empty-query", "push tasks with neither main_query nor init_messages")
    .option("--no-check", "do not ask the table which rollouts have ended already")
    .option("--dry-run", "check everything, push nothing");
  addCommonOptions(command)
    .addHelpText("after", HELP)
    .action(async (files: string[], options: PushOptions) => await push(command, files, options, io));
}

/** Checked as the rollout function will check it. */
function runName(text: string): string {
  try {
    decodeMessage(JSON.stringify({ task: { task_id: "a" }, run: text }), "");
    return text;
  } catch (error) {
    if (!(error instanceof InvalidMessageError)) throw error;
    throw new InvalidArgumentError("Expected 1 to 128 letters, digits, or any of _ . : -");
  }
}
