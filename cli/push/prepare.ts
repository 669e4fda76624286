/** First pass: every record is read and checked before the first is pushed. */
import { createHash } from "node:crypto";
import { InvalidMessageError } from "../../functions/core/errors.ts";
import type { EpisodeType, Task } from "../../functions/core/protocol.ts";
import { BODY_LIMIT_BYTES } from "../../functions/core/rollout/envelope.ts";
import { bodyOf } from "./body.ts";
import type { Fault } from "./faults.ts";
import { RecordFault, taskOf } from "./mapping.ts";
import type { InputRecord, Mapped } from "./record.ts";
import { readRecords, type Source } from "./records.ts";
import { Spool } from "./spool.ts";

export interface Checked {
  /** The caller disposes of it. */
  readonly spool: Spool;
  readonly faults: number;
  /** The run's name: the given one, or one made from the tasks. */
  readonly run: string;
}

export interface Wishes {
  readonly mapping: readonly Mapped[];
  readonly run: string | undefined;
  readonly repeats: number;
  readonly episodeType: EpisodeType;
  readonly discardTimeout: number | undefined;
  /** Take tasks that have neither a question nor messages. */
  readonly allowEmptyQuery: boolean;
}

/** As long as a name that is made from the tasks. */
const SOME_RUN = `push-${"0".repeat(16)}`;

/**
 * Checks all sources; each fault is told at once. Memory grows with the number of tasks (their ids), not with their size.
 * Without a name of its own, the run is named `push-` and 16 hex digits of the SHA-256 of all sound tasks in their order.
 */
export async function check(
  sources: readonly Source[],
  wishes: Wishes,
  tell: (fault: Fault) => void,
): Promise<Checked> {
  const spool = await Spool.create();
  const hash = createHash("sha256");
  const seen = new Map<string, string>();
  let faults = 0;
  try {
    for (const source of sources) {
      for await (const record of readRecords(source)) {
        const at = `${source.name}:${record.line}`;
        const outcome = soundTask(record, wishes, seen, at);
        if ("fault" in outcome) {
          faults += 1;
          tell({ file: source.name, line: record.line, ...outcome });
          continue;
        }
        hash.update(JSON.stringify(outcome)).update("\n");
        await spool.add({ at, task: outcome });
      }
    }
  } catch (error) {
    await spool[Symbol.asyncDispose]();
    throw error;
  }
  return { spool, faults, run: wishes.run ?? `push-${hash.digest("hex").slice(0, 16)}` };
}

/** The task, or what is wrong with it. */
function soundTask(
  record: InputRecord,
  wishes: Wishes,
  seen: Map<string, string>,
  at: string,
): Task | Omit<Fault, "file" | "line"> {
  if ("fault" in record) return { fault: record.fault };
  try {
    const task = taskOf(record.fields, wishes.mapping, wishes.allowEmptyQuery);
    const fault = doubled(task, seen, at) ?? tooLarge(task, wishes);
    return fault === undefined ? task : { fault };
  } catch (error) {
    if (!(error instanceof InvalidMessageError)) throw error;
    return { fault: error.message, proposal: error instanceof RecordFault ? error.proposal : undefined };
  }
}

/** Rollouts of a run are told apart by task and repeat: a second task of one id would never run. */
function doubled({ task_id }: Task, seen: Map<string, string>, at: string): string | undefined {
  const first = seen.get(task_id);
  if (first === undefined) {
    seen.set(task_id, at);
    return undefined;
  }
  return `task_id ${JSON.stringify(task_id)} stands at ${first} already: give each task its own, or use --repeats`;
}

function tooLarge(task: Task, wishes: Wishes): string | undefined {
  const run = wishes.run ?? SOME_RUN;
  const bytes = Buffer.byteLength(bodyOf(task, { ...wishes, run, repeat: wishes.repeats - 1 }));
  if (bytes <= BODY_LIMIT_BYTES) return undefined;
  return `expected a message of at most ${BODY_LIMIT_BYTES} bytes (SQS's limit), found ${bytes}: put large data elsewhere, and its address into the metadata`;
}
