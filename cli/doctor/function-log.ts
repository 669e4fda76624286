/** The functions' log, where this machine has it: a local run's file. */
import { open } from "node:fs/promises";
import { redact } from "../../functions/core/errors.ts";
import type { Deployment } from "../deployment.ts";

/** From the end of the file. */
const READ_BYTES = 262_144;
const MOST_CHARACTERS = 300;

/** The last line that is an error's; undefined where there is none, or no such file here. */
export async function lastFunctionError({ local }: Deployment): Promise<string | undefined> {
  if (!local) return undefined;
  const lines = (await endOf(local.log).catch(() => "")).split("\n");
  const found = lines.findLast((line) => isError(line));
  return found && redact(shortened(found));
}

async function endOf(path: string): Promise<string> {
  await using file = await open(path);
  const { size } = await file.stat();
  const start = Math.max(0, size - READ_BYTES);
  const { buffer, bytesRead } = await file.read(Buffer.alloc(size - start), 0, size - start, start);
  return buffer.toString("utf8", 0, bytesRead);
}

function isError(line: string): boolean {
  const { level } = parsed(line);
  return typeof level === "string" ? level.toUpperCase() === "ERROR" : /\b\w*Error\b/.test(line);
}

function shortened(line: string): string {
  const { message, error, errorMessage } = parsed(line);
  const words = [message, errorMessage, error].filter((part) => typeof part === "string").join(": ");
  return (words || line).slice(0, MOST_CHARACTERS);
}

function parsed(line: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}
