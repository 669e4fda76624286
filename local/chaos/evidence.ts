/** Collects what a run has left behind: table, dead letters, ledger and logs. */
import { readFile } from "node:fs/promises";
import { ReceiveMessageCommand } from "@aws-sdk/client-sqs";
import { createRolloutReader } from "../../functions/adapters/table/rollouts.ts";
import type { RolloutItem } from "../../functions/core/rollout/item.ts";
import type { LocalFleet } from "../job/deployment.ts";
import type { System } from "../system.ts";
import type { Letter, Window } from "./check/evidence.ts";

const AT_ONCE = 25;

export async function readItems(
  system: System,
  fleet: LocalFleet,
  keys: readonly string[],
): Promise<Map<string, RolloutItem>> {
  const store = createRolloutReader({ client: system.dynamodb, table: fleet.table });
  const items = new Map<string, RolloutItem>();
  for (let start = 0; start < keys.length; start += AT_ONCE) {
    const read = keys.slice(start, start + AT_ONCE).map(async (key) => {
      const item = await store.read(fleet.name, key);
      if (item) items.set(key, item);
    });
    await Promise.all(read);
  }
  return items;
}

/** Takes every letter out of the queue's sight for as long as SQS allows. */
export async function readLetters(system: System, queueUrl: string): Promise<Letter[]> {
  const letters: Letter[] = [];
  for (;;) {
    const { Messages = [] } = await system.sqs.send(
      new ReceiveMessageCommand({
        QueueUrl: queueUrl,
        MaxNumberOfMessages: 10,
        VisibilityTimeout: 43_200,
        MessageAttributeNames: ["All"],
        WaitTimeSeconds: 0,
      }),
    );
    if (Messages.length === 0) return letters;
    letters.push(
      ...Messages.map(({ Body = "", MessageAttributes = {} }) => ({
        body: Body,
        attributes: Object.fromEntries(
          Object.entries(MessageAttributes).map(([name, { StringValue = "" }]) => [name, StringValue]),
        ),
      })),
    );
  }
}

export interface LogLine {
  readonly text: string;
  readonly facts: Readonly<Record<string, unknown>>;
}

/** The functions' lines that are JSON, in order. */
export async function readLog(file: string): Promise<LogLine[]> {
  const text = await readFile(file, "utf8").catch(() => "");
  return text.split("\n").flatMap((line) => {
    try {
      const facts: unknown = JSON.parse(line);
      return typeof facts === "object" && facts !== null ? [{ text: line, facts: { ...facts } }] : [];
    } catch {
      return [];
    }
  });
}

/** Unix ms; NaN where the line tells none. */
export function timeOf(facts: LogLine["facts"]): number {
  return Date.parse(String(facts["timestamp"] ?? facts["time"]));
}

/** From "circuit opened" to "circuit closed", in the functions' own words. */
export function trippedWindows(log: readonly LogLine[]): Window[] {
  const windows: { from: number; to: number }[] = [];
  for (const { facts } of log) {
    const at = timeOf(facts);
    const last = windows.at(-1);
    if (facts["message"] === "circuit opened: the fleet slows down") {
      // Two processes may both say so.
      if (!last || last.to < at) windows.push({ from: at, to: Number.POSITIVE_INFINITY });
    } else if (facts["message"] === "circuit closed" && last) last.to = Math.min(last.to, at);
  }
  return windows;
}
