import { execFileSync } from "node:child_process";
import { cpus, totalmem } from "node:os";

/** The machine, the versions and the day, for the last line of a table of figures. */
export function machine(): string {
  const [cpu] = cpus();
  const memory = Math.round(totalmem() / 2 ** 30);
  const day = new Date().toISOString().slice(0, 10);
  return `${cpus().length} × ${cpu?.model.trim()}, ${memory} GiB; Node.js ${process.version}, commit ${commit()}; ${day}`;
}

function commit(): string {
  try {
    return execFileSync("git", ["rev-parse", "--short", "HEAD"], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    }).trim();
  } catch {
    return "unknown";
  }
}
