/** Tasks from the lines of a JSONL file; every faulty line is reported by its number. */
import { InvalidMessageError } from "../../functions/core/errors.ts";
import type { Task } from "../../functions/core/protocol.ts";
import { decodeMessage } from "../../functions/core/rollout/message.ts";

export interface LineFault {
  /** Counted from 1. */
  readonly line: number;
  readonly fault: string;
}

/** Empty lines are passed over. A task is checked as the rollout function will check it. */
export function parseTaskLines(text: string): { tasks: Task[]; faults: LineFault[] } {
  const tasks: Task[] = [];
  const faults: LineFault[] = [];
  const lines = text.replace(/^\ufeff/, "").split(/\r?\n/);
  for (const [index, line] of lines.entries()) {
    if (line.trim() === "") continue;
    try {
      tasks.push(decodeMessage(line, "").task);
    } catch (error) {
      if (!(error instanceof InvalidMessageError)) throw error;
      faults.push({ line: index + 1, fault: error.message });
    }
  }
  return { tasks, faults };
}
