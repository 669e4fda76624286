/** Slots over time, one band for each run: claimed slots as an area, the engine's status as a ribbon below it. */
import type { Sample, Watched } from "./monitor.ts";

const WIDTH = 960;
const BAND = 110;
const LEFT = 40;
const RIBBON = 10;
const colours: Readonly<Record<string, string>> = {
  ROLLING: "#2f9e44",
  ROLLING_POST: "#e8590c",
  WEIGHT_SYNCING: "#1971c2",
};

export function picture(runs: readonly { name: string; watched: Watched }[], slots: number): string {
  const seconds = Math.max(...runs.map(({ watched }) => watched.seconds));
  const x = (at: number) => (LEFT + (at / seconds) * (WIDTH - LEFT - 10)).toFixed(1);
  const bands = runs.map(({ name, watched }, index) => band(name, watched, index * BAND, { x, slots }));
  const legend = Object.entries(colours).map(
    ([status, colour], index) =>
      `<rect x="${LEFT + index * 150}" y="${runs.length * BAND + 8}" width="12" height="12" fill="${colour}"/>` +
      `<text x="${LEFT + index * 150 + 18}" y="${runs.length * BAND + 18}">${status}</text>`,
  );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${runs.length * BAND + 30}" font-family="sans-serif" font-size="12">`,
    `<rect width="100%" height="100%" fill="#fff"/>`,
    ...bands,
    ...legend,
    "</svg>\n",
  ].join("\n");
}

interface Scale {
  readonly x: (at: number) => string;
  readonly slots: number;
}

function band(name: string, { samples, syncs, seconds }: Watched, top: number, { x, slots }: Scale): string {
  const bottom = top + BAND - RIBBON - 14;
  const y = (claimed: number) => (bottom - (claimed / slots) * (BAND - RIBBON - 40)).toFixed(1);
  const line = samples.map(({ at, claimed }) => `${x(at)},${y(claimed)}`).join(" ");
  const area = `${x(samples[0]?.at ?? 0)},${bottom} ${line} ${x(samples.at(-1)?.at ?? 0)},${bottom}`;
  return [
    `<text x="${LEFT}" y="${top + 16}">${name}: ${syncs} weight syncs in ${seconds.toFixed(0)} s; claimed slots of ${slots}</text>`,
    `<polygon points="${area}" fill="#adb5bd"/>`,
    ...ribbons(samples).map(
      ({ status, from, to }) =>
        `<rect x="${x(from)}" y="${bottom + 2}" width="${(Number(x(to)) - Number(x(from))).toFixed(1)}" height="${RIBBON}" fill="${colours[status] ?? "#868e96"}"/>`,
    ),
  ].join("\n");
}

function ribbons(samples: readonly Sample[]): { status: string; from: number; to: number }[] {
  const stretches: { status: string; from: number; to: number }[] = [];
  for (const { status, at } of samples) {
    const last = stretches.at(-1);
    if (last) last.to = at;
    if (last?.status !== status) stretches.push({ status, from: at, to: at });
  }
  return stretches;
}
