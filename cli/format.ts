/** Numbers and times as a terminal should show them. */

/** What is not known. */
export const NOTHING = "–";

/** Four significant digits, without trailing zeros. */
export function figure(value: number | null): string {
  return value === null ? NOTHING : String(Number(value.toPrecision(4)));
}

const units = [
  ["d", 86_400],
  ["h", 3600],
  ["min", 60],
  ["s", 1],
] as const;

/** A span of ms in its two largest units: `2 h 5 min`. */
export function span(ms: number): string {
  let seconds = Math.max(0, Math.floor(ms / 1000));
  const parts = units.map(([unit, size]) => {
    const count = Math.floor(seconds / size);
    seconds -= count * size;
    return { unit, count };
  });
  const first = parts.findIndex(({ count }) => count > 0);
  if (first < 0) return "0 s";
  return parts
    .slice(first, first + 2)
    .filter(({ count }) => count > 0)
    .map(({ unit, count }) => `${count} ${unit}`)
    .join(" ");
}

/** As `span`, with tenths where seconds alone would say little. */
export function shortSpan(ms: number): string {
  return ms < 10_000 ? `${(Math.max(0, ms) / 1000).toFixed(1)} s` : span(ms);
}
