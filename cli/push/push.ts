/** A push from files to queue: check everything, then send. */
import type { Command } from "commander";
import { type CommonOptions, withDeployment } from "../connection.ts";
import { neededQueue } from "../deployment.ts";
import { CommandFailure, Interrupted } from "../failures.ts";
import { type Io, printJson } from "../io.ts";
import { FaultReport } from "./faults.ts";
import { type Checked, check, type Wishes } from "./prepare.ts";
import { createPushProgress } from "./progress.ts";
import type { Mapped } from "./record.ts";
import type { Format } from "./records.ts";
import { nothingSent, type Sent, send } from "./send.ts";
import { sourcesOf } from "./sources.ts";
import { counted, type Outcome, outcomeJson, outcomeText } from "./text.ts";

export interface PushOptions extends CommonOptions {
  readonly fleet?: string;
  readonly repeats: number;
  readonly run?: string;
  readonly eval?: boolean;
  readonly map?: readonly Mapped[];
  readonly limit?: number;
  readonly shuffle?: number;
  readonly dryRun?: boolean;
  readonly skipInvalid?: boolean;
  readonly allowEmptyQuery?: boolean;
  readonly discardTimeout?: number;
  readonly format?: Format;
  readonly check: boolean;
}

export async function push(command: Command, files: string[], options: PushOptions, io: Io): Promise<void> {
  const sources = await sourcesOf(files, options.format, io);
  const wishes: Wishes = {
    mapping: options.map ?? [],
    run: options.run,
    repeats: options.repeats,
    episodeType: options.eval ? "eval" : "train",
    discardTimeout: options.discardTimeout,
    allowEmptyQuery: options.allowEmptyQuery ?? false,
  };
  const report = new FaultReport((line) => io.err(`${line}\n`));
  const checked = await check(sources, wishes, (fault) => report.add(fault));
  await using _ = checked.spool;
  report.conclude();
  refuseFaulty(checked, report, options, io);
  const outcome = await pushChecked(command, checked, { options, wishes, io });
  const told = { ...outcome, faults: report.kept, faultCount: checked.faults, proposal: report.proposal };
  if (options.json) printJson(io, outcomeJson(told));
  else io.out(outcomeText(told, io.style));
  if (outcome.sent?.interrupted)
    throw new Interrupted("stopped by Ctrl-C: run the same command again to go on");
  if (outcome.sent && outcome.sent.refused.length > 0)
    throw new CommandFailure(`the queue refused ${outcome.sent.refused.length} rollouts: see above`);
}

/** A program gets its answer on standard output here too. */
function refuseFaulty(checked: Checked, report: FaultReport, options: PushOptions, io: Io): void {
  const { faults: faultCount, run } = checked;
  if (faultCount === 0 || options.skipInvalid) return;
  const facts = { run, runWasGiven: true, fleet: options.fleet, tasks: 0, repeats: options.repeats };
  const { kept: faults, proposal } = report;
  if (options.json)
    printJson(io, outcomeJson({ ...facts, sent: nothingSent(), faults, faultCount, proposal }));
  throw new CommandFailure(
    `${counted(faultCount, "faulty record")}, so nothing was pushed: correct them, or push the others with --skip-invalid`,
  );
}

interface Pushing {
  readonly options: PushOptions;
  readonly wishes: Wishes;
  readonly io: Io;
}

async function pushChecked(
  command: Command,
  { spool, run }: Checked,
  { options, wishes, io }: Pushing,
): Promise<Omit<Outcome, "faults" | "faultCount" | "proposal">> {
  const tasks = Math.min(spool.count, options.limit ?? spool.count);
  if (tasks === 0) throw new CommandFailure("expected at least one task, found none");
  const facts = { run, runWasGiven: options.run !== undefined, tasks, repeats: options.repeats };
  if (options.dryRun) return { ...facts, fleet: options.fleet, sent: undefined };
  return await withDeployment(command, options, async (deployment) => {
    const fleet = await deployment.fleet(options.fleet);
    const target = {
      sqs: deployment.aws.sqs,
      queueUrl: neededQueue(fleet, "queueUrl"),
      fleet: fleet.name,
      table: options.check ? await deployment.table() : undefined,
    };
    const progress = createPushProgress(tasks * options.repeats, io);
    const sent = nothingSent();
    try {
      await send(
        target,
        {
          tasks: spool.read({ limit: options.limit, seed: options.shuffle }),
          wishes: { ...wishes, run },
          stop: io.interrupted(),
          onDone: (count) => progress.done(count),
        },
        sent,
      );
    } catch (error) {
      tellHowFar(io, sent, run);
      throw error;
    } finally {
      progress.stop();
    }
    return { ...facts, fleet: fleet.name, sent };
  });
}

function tellHowFar(io: Io, { pushed }: Sent, run: string): void {
  io.err(
    `sortie: ${pushed} rollouts of run ${run} were pushed before this happened; pushing again is safe\n`,
  );
}
