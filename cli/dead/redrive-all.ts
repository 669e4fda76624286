/** `sortie dead redrive`. */
import { createRolloutStore } from "../../functions/adapters/table/rollouts.ts";
import { systemClock as clock } from "../../functions/system-clock.ts";
import { neededQueue } from "../deployment.ts";
import { Interrupted } from "../failures.ts";
import { type Io, printJson } from "../io.ts";
import { counted } from "../push/text.ts";
import { printable } from "../terminal-text.ts";
import { type DeadOptions, type Place, settledAll, WORK_SECONDS } from "./place.ts";
import { type Redriven, type RedrivePorts, redrive } from "./redrive.ts";
import { visitLetters } from "./select.ts";

export async function redriveAll(
  { deployment, fleet, letters }: Place,
  options: DeadOptions,
  io: Io,
): Promise<void> {
  const queueUrl = neededQueue(fleet, "queueUrl");
  const [table, ttlDays] = await Promise.all([deployment.table(), deployment.rolloutTtlDays()]);
  const ports: RedrivePorts = {
    clock,
    random: Math.random,
    log: (level, message) => void (level === "info" || io.err(`sortie: ${printable(message)}\n`)),
    rollouts: createRolloutStore({ ...table, ttlDays }),
    queue: { client: deployment.aws.sqs, queueUrl },
    queueOnce: { client: deployment.aws.sqsOnce, queueUrl },
    letters,
    fleet,
    evenIfUnsure: options.unsure ?? false,
  };
  const counts: Record<Redriven, number> = { sent: 0, ended: 0, open: 0, unsure: 0 };
  const stop = io.interrupted();
  await visitLetters(letters, { ...options, hideSeconds: WORK_SECONDS, stop }, async (some) => {
    const outcomes = await settledAll(
      some.map(async (letter) => ({ letter, outcome: await redrive(ports, letter) })),
    );
    for (const { outcome } of outcomes) counts[outcome] += 1;
    return outcomes
      .filter(({ outcome }) => outcome === "sent" || outcome === "ended")
      .map(({ letter }) => letter);
  });
  if (options.json) printJson(io, { fleet: fleet.name, ...counts, interrupted: stop.aborted });
  else io.out(redrivenText(fleet.name, counts));
  if (stop.aborted) throw new Interrupted("stopped by Ctrl-C: run the same command again to go on");
}

function redrivenText(fleet: string, { sent, ended, open, unsure }: Record<Redriven, number>): string {
  const lines = [
    `${counted(sent, "dead letter")} of fleet ${fleet} sent back, with fresh attempts.`,
    ...(ended > 0 ? [`${ended} removed, since their rollouts had ended already.`] : []),
    ...(open > 0 ? [`${open} left there: an episode of theirs is open. Try again in some minutes.`] : []),
    ...(unsure > 0
      ? [
          `${unsure} left there: an interrupted redrive may have sent them, and without a run nobody can tell. If they have not ` +
            "run since, send them with --unsure.",
        ]
      : []),
  ];
  return `${lines.join("\n")}\n`;
}
