/**
 * The table's time of day, which all functions have in common: each answer of DynamoDB says when it was sent. Times that
 * one machine writes and another reads are told by it, since the machines' own clocks may differ by minutes.
 */
import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";

/** The `Date` of an answer is cut to whole seconds. */
const RESOLUTION_MS = 1000;
/** By how much a clock that is right may seem off: not worth a correction. */
const TOLERANCE_MS = 1000;

export class TableTime {
  #offsetMs = 0;
  #known = false;

  /** What is to be added to this machine's time, ms; 0 while they agree within a second or two. */
  get offsetMs(): number {
    return this.#offsetMs;
  }
  /** Whether the table has said the time yet. */
  get isKnown(): boolean {
    return this.#known;
  }

  /**
   * An answer that says `date` (unix ms, whole seconds) and was under way between two times of this machine. It was
   * written in between, so it bounds how far the clocks are apart; a slow answer bounds it loosely, and changes nothing.
   */
  observe(date: number, { sentAt, receivedAt }: { sentAt: number; receivedAt: number }): void {
    const [least, most] = [date - receivedAt, date + RESOLUTION_MS - sentAt];
    if (!Number.isFinite(date) || least > most) return;
    this.#known = true;
    const fits = (offset: number) => offset >= least - TOLERANCE_MS && offset <= most + TOLERANCE_MS;
    if (fits(this.#offsetMs)) return;
    this.#offsetMs = fits(0) ? 0 : Math.round((least + most) / 2);
  }
}

/** Makes each answer that the client gets, also a refusal, tell the time. */
export function tellsTime(client: DynamoDBClient, time: TableTime): DynamoDBClient {
  client.middlewareStack.add(
    (next) => async (args) => {
      const sentAt = Date.now();
      const result = await next(args);
      const date = dateOf(result.response);
      if (date !== undefined) time.observe(Date.parse(date), { sentAt, receivedAt: Date.now() });
      return result;
    },
    // Next to the network, before an answer becomes an error.
    { step: "deserialize", name: "tellsTime", priority: "low" },
  );
  return client;
}

function dateOf(response: unknown): string | undefined {
  const { headers = {} } = (response ?? {}) as { headers?: Readonly<Record<string, string>> };
  return headers["date"];
}
