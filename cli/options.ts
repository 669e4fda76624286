/** Values of options, checked where they are read: each fault says what was expected. */
import { InvalidArgumentError } from "commander";

/** A whole number of at least `least`. */
export function whole(least: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d{1,15}$/.test(text) && value >= least) return value;
    throw new InvalidArgumentError(`Expected a whole number from ${least} on.`);
  };
}

/** Seconds above 0. */
export function seconds(text: string): number {
  const value = Number(text);
  if (text.trim() !== "" && Number.isFinite(value) && value > 0) return value;
  throw new InvalidArgumentError("Expected seconds above 0.");
}

const unitMs: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** A span such as `90s`, `30m`, `2h` or `7d`, in ms. */
export function duration(text: string): number {
  const [, count, unit = ""] = /^(\d{1,9}(?:\.\d+)?)([smhd])$/.exec(text) ?? [];
  const ms = Number(count) * (unitMs[unit] ?? Number.NaN);
  if (ms > 0) return ms;
  throw new InvalidArgumentError("Expected a span such as 90s, 30m, 2h or 7d.");
}

export function httpUrl(text: string): string {
  if (/^https?:\/\/[^/]/.test(text) && URL.canParse(text)) return text;
  throw new InvalidArgumentError("Expected an address such as http://127.0.0.1:8000.");
}
