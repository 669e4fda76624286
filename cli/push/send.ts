/** Second pass: the checked tasks become messages, but for rollouts that have ended already. */

import type { TableOptions } from "../../functions/adapters/table/client.ts";
import type { RolloutState } from "../../functions/core/rollout/item.ts";
import { runKey } from "../../functions/core/rollout/message.ts";
import type { Aws } from "../aws.ts";
import { readStates } from "../look-up.ts";
import { bodyOf } from "./body.ts";
import type { Wishes } from "./prepare.ts";
import { sendAll } from "./producer.ts";
import type { Spooled } from "./spool.ts";

export interface Target {
  readonly sqs: Aws["sqs"];
  readonly queueUrl: string;
  readonly fleet: string;
  /** Where to ask which rollouts have ended; undefined: nobody asks. */
  readonly table: TableOptions | undefined;
}

/** Rollouts. */
export interface Sent {
  pushed: number;
  /** Not pushed, since the table shows how they came out. */
  readonly skipped: { ended: number; unknown: number; lost: number; dead: number };
  readonly refused: { at: string; reason: string }[];
  /** Stopped before the end. */
  interrupted: boolean;
}

/** Rollouts that are asked for and sent together: as many as one question to the table takes. */
const CHUNK = 100;
/** Chunks at the same time. */
const AT_ONCE = 8;

export interface Sending {
  readonly tasks: AsyncIterable<Spooled>;
  readonly wishes: Omit<Wishes, "run" | "mapping" | "allowEmptyQuery"> & { readonly run: string };
  readonly stop: AbortSignal;
  /** Told how many rollouts are done with. */
  readonly onDone: (count: number) => void;
}

/** Throws what the SDK throws when queue or table cannot be reached; `sent` then says how far it came. */
export async function send(target: Target, sending: Sending, sent: Sent = nothingSent()): Promise<Sent> {
  const chunks = chunked(messages(sending));
  let failure: unknown;
  const work = async () => {
    for await (const chunk of chunks) {
      if (failure !== undefined) return;
      if (sending.stop.aborted) {
        sent.interrupted = true;
        return;
      }
      await sendChunk(target, chunk, sending, sent).catch((error) => {
        failure ??= error;
      });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  if (failure !== undefined) throw failure;
  return sent;
}

export function nothingSent(): Sent {
  return { pushed: 0, skipped: { ended: 0, unknown: 0, lost: 0, dead: 0 }, refused: [], interrupted: false };
}

interface Message {
  readonly at: string;
  readonly key: string;
  readonly body: string;
}

/** All repeats of one task stand together, so that groups complete early. */
async function* messages({ tasks, wishes }: Sending): AsyncGenerator<Message> {
  for await (const { at, task } of tasks)
    for (let repeat = 0; repeat < wishes.repeats; repeat += 1) {
      const facts = { ...wishes, repeat };
      yield { at, key: runKey(task, facts), body: bodyOf(task, facts) };
    }
}

async function* chunked(all: AsyncIterable<Message>): AsyncGenerator<Message[]> {
  let chunk: Message[] = [];
  for await (const message of all) {
    chunk.push(message);
    if (chunk.length < CHUNK) continue;
    yield chunk;
    chunk = [];
  }
  if (chunk.length > 0) yield chunk;
}

async function sendChunk(target: Target, chunk: Message[], sending: Sending, sent: Sent): Promise<void> {
  const { table, fleet } = target;
  const keys = chunk.map(({ key }) => key);
  const states = table ? await readStates(table, fleet, keys) : new Map<string, RolloutState>();
  const previous = chunk.filter(({ key }) => !count(states.get(key), sent));
  sending.onDone(chunk.length - previous.length);
  const onSent = (number: number) => {
    sent.pushed += number;
    sending.onDone(number);
  };
  const failures = await sendAll(
    { client: target.sqs, queueUrl: target.queueUrl },
    previous.map(({ body }) => body),
    onSent,
  );
  sent.refused.push(...failures.map(({ index, reason }) => ({ at: previous[index]?.at ?? "", reason })));
}

/** Counts a rollout that has come to its end; false for one that has not. */
function count(state: RolloutState | undefined, { skipped }: Sent): boolean {
  if (state !== "ended" && state !== "unknown" && state !== "lost" && state !== "dead") return false;
  skipped[state] += 1;
  return true;
}
