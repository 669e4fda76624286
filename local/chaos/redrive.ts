/**
 * An operator's redrive of a message that has no run, over a connection that loses the queue's answer to each sending: sent
 * again, such a message would be one more rollout.
 */

import { createAws } from "../../cli/aws.ts";
import { allLetters, type LetterQueue, showAgain } from "../../cli/dead/letters.ts";
import { type Redriven, redrive } from "../../cli/dead/redrive.ts";
import { createRolloutStore } from "../../functions/adapters/table/rollouts.ts";
import { systemClock as clock } from "../../functions/system-clock.ts";
import type { SystemUnderFaults } from "./fleet.ts";
import { FaultProxy } from "./proxy.ts";
import { operation } from "./steps.ts";

export interface UnansweredRedrive {
  /** How often the message was sent. */
  readonly sends: number;
  /** What the redrive says of it. */
  readonly outcome: Redriven;
}

/** Long enough for one redrive; then the letter shows again. */
const HIDE_SECONDS = 5;

/** Redrives the letter with this body; undefined where there is none. */
export async function redriveUnanswered(
  { system, fleet, deadLetterQueueUrl }: SystemUnderFaults,
  body: string,
): Promise<UnansweredRedrive | undefined> {
  let sends = 0;
  const lossy = new FaultProxy(system.endpoints.sqs, [
    {
      after: (request) => {
        if (operation(request) !== "SendMessage") return "pass";
        sends += 1;
        return "close";
      },
    },
  ]);
  await lossy.up();
  const region = (await system.sqs.config.region()) ?? "";
  const aws = createAws({}, { region, endpoints: { ...system.endpoints, sqs: lossy.url } });
  const letters: LetterQueue = { client: system.sqs, queueUrl: deadLetterQueueUrl };
  const ports = {
    clock,
    random: Math.random,
    log: () => undefined,
    rollouts: createRolloutStore({
      client: system.dynamodb,
      table: fleet.table,
      ttlDays: fleet.rolloutTtlDays,
    }),
    queue: { client: aws.sqs, queueUrl: fleet.queueUrl },
    queueOnce: { client: aws.sqsOnce, queueUrl: fleet.queueUrl },
    letters,
    fleet: { ...fleet, deadLetterQueueUrl },
    evenIfUnsure: false,
  };
  try {
    let outcome: Redriven | undefined;
    for await (const some of allLetters(letters, HIDE_SECONDS))
      for (const letter of some)
        if (letter.body === body) outcome ??= await redrive(ports, letter);
        else await showAgain(letters, [letter.receipt]);
    return outcome && { sends, outcome };
  } finally {
    aws.destroy();
    await lossy.close();
  }
}
