/** The live line of a local run: a bar on a terminal, a line now and then elsewhere. Everything goes to stderr. */
import { MultiBar, Presets } from "cli-progress";
import type { Account } from "./accounting.ts";

export interface Figures extends Account {
  readonly total: number;
  readonly deferred: number;
  readonly status: string;
  readonly step: number | null;
  readonly elapsedMs: number;
}

export interface Progress {
  show(figures: Figures): void;
  /** A line that stays. */
  note(text: string): void;
  stop(): void;
}

const PLAIN_INTERVAL_MS = 5000;

export function createProgress(total: number, stream: NodeJS.WriteStream): Progress {
  return stream.isTTY ? barProgress(total, stream) : plainProgress(stream);
}

function barProgress(total: number, stream: NodeJS.WriteStream): Progress {
  const bars = new MultiBar(
    {
      stream,
      hideCursor: true,
      barsize: 16,
      clearOnComplete: false,
      format: "{bar} {value}/{total} | {words}",
    },
    Presets.shades_classic,
  );
  const bar = bars.create(total, 0, { words: "" });
  return {
    show: (figures) =>
      bar.update(figures.ended + figures.dead + figures.unknown + figures.lost, { words: words(figures) }),
    note: (text) => bars.log(`${text}\n`),
    stop: () => bars.stop(),
  };
}

function plainProgress(stream: NodeJS.WriteStream): Progress {
  let shown = Number.NEGATIVE_INFINITY;
  return {
    show: (figures) => {
      if (figures.elapsedMs - shown < PLAIN_INTERVAL_MS) return;
      shown = figures.elapsedMs;
      stream.write(
        `${figures.ended + figures.dead + figures.unknown + figures.lost}/${figures.total} | ${words(figures)}\n`,
      );
    },
    note: (text) => stream.write(`${text}\n`),
    stop: () => undefined,
  };
}

function words(figures: Figures): string {
  const reward = figures.rewardMean === null ? "–" : figures.rewardMean.toFixed(3);
  const trouble = figures.dead > 0 ? ` | dead ${figures.dead}` : "";
  const status = figures.status.replace("ENGINE.", "");
  return `reward ${reward}${trouble} | step ${figures.step ?? "–"} ${status} | open ${figures.open}`;
}
