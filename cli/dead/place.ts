/** A fleet's dead letters, and what the command line wants of them. */

import type { CommonOptions } from "../connection.ts";
import type { Deployment, Fleet } from "../deployment.ts";
import type { LetterQueue } from "./letters.ts";

export interface DeadOptions extends CommonOptions {
  readonly fleet?: string;
  readonly reason?: string;
  readonly limit?: number;
  readonly yes?: boolean;
  readonly body?: boolean;
  readonly unsure?: boolean;
}

export interface Place {
  readonly deployment: Deployment;
  readonly fleet: Fleet;
  readonly letters: LetterQueue;
}

/** Looking hides a letter from others for so long at most; redriving one is done much sooner. Seconds. */
export const LOOK_SECONDS = 60;
export const WORK_SECONDS = 120;

/** All are waited for, so that none is shown to others while it is still worked on. */
export async function settledAll<T>(work: readonly Promise<T>[]): Promise<T[]> {
  const settled = await Promise.allSettled(work);
  const failed = settled.find((one) => one.status === "rejected");
  if (failed) throw failed.reason;
  return settled.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
}
