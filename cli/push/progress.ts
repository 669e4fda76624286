/** How far a push has come: a bar with rate and time left on a terminal, a line now and then elsewhere. */
import { Presets, SingleBar } from "cli-progress";
import { span } from "../format.ts";
import type { Io } from "../io.ts";

export interface PushProgress {
  done(count: number): void;
  stop(): void;
}

const PLAIN_INTERVAL_MS = 10_000;
const FORMAT = "{bar} {percentage}% | {value}/{total} rollouts | {rate}/s | {left} left";

export function createPushProgress(total: number, io: Pick<Io, "progress" | "now">): PushProgress {
  const meter = new RateMeter(total, io.now);
  return io.progress.isTTY ? bar(total, io, meter) : plain(total, io, meter);
}

function bar(total: number, io: Pick<Io, "progress">, meter: RateMeter): PushProgress {
  const options = { stream: io.progress as NodeJS.WritableStream, hideCursor: true, format: FORMAT };
  const shown = new SingleBar(options, Presets.shades_classic);
  shown.start(total, 0, meter.words());
  return {
    done: (count) => {
      meter.add(count);
      shown.increment(count, meter.words());
    },
    stop: () => shown.stop(),
  };
}

function plain(
  total: number,
  { progress, now }: Pick<Io, "progress" | "now">,
  meter: RateMeter,
): PushProgress {
  let shown = now();
  return {
    done: (count) => {
      meter.add(count);
      if (now() - shown < PLAIN_INTERVAL_MS) return;
      shown = now();
      const { rate, left } = meter.words();
      progress.write(`${meter.value}/${total} rollouts | ${rate}/s | ${left} left\n`);
    },
    stop: () => undefined,
  };
}

/** Over the whole push: its batches come in bursts. */
export class RateMeter {
  readonly #total: number;
  readonly #now: () => number;
  readonly #began: number;
  value = 0;

  constructor(total: number, now: () => number) {
    this.#total = total;
    this.#now = now;
    this.#began = now();
  }

  add(count: number): void {
    this.value += count;
  }

  words(): { rate: string; left: string } {
    const seconds = (this.#now() - this.#began) / 1000;
    if (this.value === 0 || seconds <= 0) return { rate: "–", left: "–" };
    const rate = this.value / seconds;
    return {
      rate: rate < 10 ? rate.toFixed(1) : rate.toFixed(0),
      left: span(((this.#total - this.value) / rate) * 1000),
    };
  }
}
