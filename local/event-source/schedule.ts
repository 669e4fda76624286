import { randomUUID } from "node:crypto";
import { accountId, arn, region } from "../region.ts";
import { Inflight } from "./inflight.ts";

export interface ScheduleOptions {
  readonly name: string;
  readonly periodMs: number;
  /** The target's input: JSON, in which the scheduler's `<aws.scheduler.…>` are replaced. */
  readonly input?: string | undefined;
  readonly invoke: (event: unknown) => Promise<unknown>;
}

/**
 * An EventBridge Scheduler schedule with a rate and no retries: it invokes at once and then every period, whether or
 * not the invocation before has ended (a function with reserved concurrency 1 then refuses, and the tick is dropped).
 */
export class Schedule {
  readonly #options: ScheduleOptions;
  readonly #inflight = new Inflight();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: ScheduleOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer ??= setInterval(() => this.#tick(), this.#options.periodMs);
    this.#tick();
  }

  /** Invokes no more, and waits up to `graceMs` for what is under way; returns how many invocations still run. */
  async stop(graceMs = 0): Promise<number> {
    clearInterval(this.#timer);
    this.#timer = undefined;
    return this.#inflight.settled(graceMs);
  }

  #tick(): void {
    // Failures are in the function's log; the schedule has no second attempt.
    this.#inflight.track(this.#invoke(), () => {});
  }

  async #invoke(): Promise<void> {
    await this.#options.invoke(eventOf(this.#options, new Date()));
  }
}

function eventOf({ name, input }: ScheduleOptions, now: Date): unknown {
  const scheduleArn = arn("scheduler", `schedule/default/${name}`);
  const time = `${now.toISOString().slice(0, 19)}Z`;
  if (input === undefined) return defaultEvent(scheduleArn, time);
  return JSON.parse(
    input
      .replaceAll("<aws.scheduler.schedule-arn>", scheduleArn)
      .replaceAll("<aws.scheduler.scheduled-time>", time)
      .replaceAll("<aws.scheduler.execution-id>", randomUUID())
      .replaceAll("<aws.scheduler.attempt-number>", "1"),
  );
}

/** What a target without input gets. */
function defaultEvent(scheduleArn: string, time: string): unknown {
  return {
    version: "0",
    id: randomUUID(),
    "detail-type": "Scheduled Event",
    source: "aws.scheduler",
    account: accountId,
    time,
    region,
    resources: [scheduleArn],
    detail: "{}",
  };
}
