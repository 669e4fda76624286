/** Reward, throughput and queue depth over time, drawn in the terminal. */
import draw from "simple-ascii-chart";
import type { FleetSnapshot, Snapshot } from "../functions/core/housekeeping/snapshot.ts";
import { figure } from "./format.ts";
import type { Io } from "./io.ts";
import { totalsSince } from "./since.ts";

/** One point of a curve: unix ms, and the value; null where there is none. */
export interface Point {
  readonly at: number;
  /** Mean reward of the train rollouts that ended since the point before. */
  readonly reward: number | null;
  /** Rollouts, train and eval, that ended per minute since the point before. */
  readonly ended_per_minute: number | null;
  /** Messages that wait or are worked on. */
  readonly queue: number | null;
}
export type Curves = Readonly<Record<string, readonly Point[]>>;

/** Columns of a chart beside its curve: labels and axis. */
const FRAME = 12;
const WITHOUT_TERMINAL = 80;
const NARROWEST = 30;
const HEIGHT = 8;

/** By fleet. At most `most` points each: what lies between two of them is summed up, so nothing is left out. */
export function curvesOf(history: readonly Snapshot[], most = Number.POSITIVE_INFINITY): Curves {
  const names = new Set(history.flatMap(({ fleets }) => Object.keys(fleets)));
  const kept = thinned(history, most);
  return Object.fromEntries([...names].toSorted().map((name) => [name, curve(kept, name)]));
}

/** Evenly, with the first and the last. */
function thinned(history: readonly Snapshot[], most: number): readonly Snapshot[] {
  if (history.length <= most) return history;
  const step = (history.length - 1) / (most - 1);
  return Array.from({ length: most }, (_, index) => history[Math.round(index * step)]).filter(
    (snapshot) => snapshot !== undefined,
  );
}

function curve(history: readonly Snapshot[], name: string): Point[] {
  return history.flatMap((snapshot, index) => {
    const fleet = snapshot.fleets[name];
    const before = history[index - 1];
    return fleet ? [point(snapshot.at, fleet, before?.at, before?.fleets[name])] : [];
  });
}

function point(time: string, fleet: FleetSnapshot, timeBefore?: string, before?: FleetSnapshot): Point {
  const at = Date.parse(time);
  const queue = fleet.queue && fleet.queue.visible + fleet.queue.in_flight + fleet.queue.delayed;
  if (timeBefore === undefined || !before) return { at, reward: null, ended_per_minute: null, queue };
  const { rewards, reward_sum, ended, eval_ended } = totalsSince(fleet.totals, before.totals);
  const minutes = (at - Date.parse(timeBefore)) / 60_000;
  return {
    at,
    reward: rewards > 0 ? reward_sum / rewards : null,
    ended_per_minute: minutes > 0 ? (ended + eval_ended) / minutes : null,
    queue,
  };
}

const charts = [
  ["Mean reward of train rollouts", "reward"],
  ["Rollouts ended per minute", "ended_per_minute"],
  ["Messages in the queue", "queue"],
] as const;

export function plotText(
  history: readonly Snapshot[],
  { style, columns = WITHOUT_TERMINAL }: Pick<Io, "style" | "columns">,
): string {
  if (history.length < 2)
    return `Nothing to draw yet: expected two snapshots at least, found ${history.length}. Look again in some minutes, or give a longer --since.\n`;
  const width = Math.max(NARROWEST, columns - FRAME);
  const texts = Object.entries(curvesOf(history, width)).flatMap(([fleet, points]) =>
    charts.map(([title, of]) => {
      const known = points.flatMap((one): [number, number][] => {
        const value = one[of];
        return value === null ? [] : [[one.at, value]];
      });
      return `${style("bold", `${title}, fleet ${fleet}`)}\n${chart(known, width)}`;
    }),
  );
  return `${texts.join("\n\n")}\n\nTimes are UTC. Each point stands for what came since the one before.\n`;
}

function chart(points: [number, number][], width: number): string {
  const [first] = points;
  const last = points.at(-1);
  if (!first || !last) return "nothing yet";
  if (points.length === 1) return `${figure(first[1])}: one point so far`;
  const middle = points[Math.floor(points.length / 2)] ?? last;
  const values = points.map(([, value]) => value);
  const highest = Math.max(...values, 0);
  const lowest = Math.min(...values, 0);
  const drawn = draw(points, {
    width,
    height: HEIGHT,
    // A flat curve has no height of its own.
    yRange: [lowest, highest > lowest ? highest : lowest + 1],
    customXAxisTicks: [first[0], middle[0], last[0]],
    formatter: (value, { axis }) =>
      axis === "x" ? clockTime(value, last[0] - first[0]) : figure(Number(value.toPrecision(3))),
  });
  return drawn
    .split("\n")
    .map((line) => line.trimEnd())
    .filter((line) => line !== "")
    .join("\n");
}

const TEN_MINUTES_MS = 600_000;
const DAY_MS = 86_400_000;

/** UTC, as finely as the span needs it. */
function clockTime(at: number, spanMs: number): string {
  const iso = new Date(at).toISOString();
  if (spanMs > DAY_MS) return iso.slice(5, 16).replace("T", " ");
  return spanMs < TEN_MINUTES_MS ? iso.slice(11, 19) : iso.slice(11, 16);
}
