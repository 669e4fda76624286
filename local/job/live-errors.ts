/** What goes wrong in a run, said while it runs: the first errors of each kind with rollout and line, then their count. */
import { printable } from "../../cli/terminal-text.ts";
import { firstOfTrace } from "../../functions/core/error-trace.ts";
import type { LogEntry } from "../lambda/invocation.ts";

/** Errors that are shown whole; of further kinds, and of the same once more, there is a count. */
const SHOWN = 3;
/** Ends that are the agent's doing. */
const agentsDoing = new Set(["agent-error", "invalid-output", "deadline", "crashed"]);

type Line = Readonly<Record<string, unknown>>;

export class LiveErrors {
  readonly #show: (text: string) => void;
  readonly #counts = new Map<string, number>();
  #stopped: string | undefined;

  constructor(show: (text: string) => void) {
    this.#show = show;
  }

  /** Why going on is in vain: the circuit has opened over what the agent does. */
  get stopped(): string | undefined {
    return this.#stopped;
  }

  note({ line }: Pick<LogEntry, "line">): void {
    const facts = parsed(line);
    const { message, reason, rollout, detail } = facts;
    if (message === "circuit opened: the fleet slows down") this.#opened(facts);
    if (message !== `attempt ${String(reason)}` || !agentsDoing.has(String(reason))) return;
    this.#failed(String(reason), String(rollout), typeof detail === "string" ? detail : "");
  }

  /** One line for each error that was seen more than once; nothing where there is none. */
  counts(): string[] {
    return [...this.#counts]
      .filter(([, count]) => count > 1)
      .sort(([, a], [, b]) => b - a)
      .slice(0, SHOWN)
      .map(([kind, count]) => `${count} times: ${printable(kind)}`);
  }

  #failed(reason: string, rollout: string, detail: string): void {
    const kind = `${reason}: ${firstOfTrace(detail)}`;
    const count = (this.#counts.get(kind) ?? 0) + 1;
    this.#counts.set(kind, count);
    if (count > 1 || this.#counts.size > SHOWN) return;
    const lines = detail.split("\n").map((one) => `  ${printable(one)}`);
    this.#show([`${printable(rollout)}: ${reason}`, ...lines].join("\n"));
  }

  #opened({ reason, failures }: Line): void {
    if (!agentsDoing.has(String(reason))) return;
    this.#stopped = `${String(failures)} attempts failed one after another, the last as ${String(reason)}`;
  }
}

/** A line of a live system for each attempt that is over: time, how it ended, rollout, words. Undefined for other lines. */
export function attemptLine({ line }: Pick<LogEntry, "line">): string | undefined {
  const { timestamp, message, reason, rollout, detail, reward } = parsed(line);
  if (typeof reason !== "string" || message !== `attempt ${reason}`) return undefined;
  const words = typeof detail === "string" ? firstOfTrace(detail) : rewardWords(reward);
  const time = String(timestamp).slice(11, 19);
  return printable([time, reason, String(rollout), words].filter(Boolean).join("  "));
}

function rewardWords(reward: unknown): string {
  return reward === undefined ? "" : `reward ${JSON.stringify(reward)}`;
}

function parsed(line: string): Line {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}
