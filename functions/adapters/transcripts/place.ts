/** Where a transcript is stored: by fleet, run and rollout, so that those of a rollout and of a run are found by prefix. */
import { createHash } from "node:crypto";
import type { TranscriptExtra } from "../../core/transcript/transcript.ts";

/** A run is in a folder of its own; messages without one share a folder that no run's name can be. */
export function folderOfRun(fleet: string, run: string): string {
  return `${fleet}/run-${safe(run)}/`;
}

export function folderOfRollout(fleet: string, key: string): string {
  const [, run] = /^run\/([^/]+)\//.exec(key) ?? [];
  const folder = run === undefined ? `${fleet}/messages/` : folderOfRun(fleet, run);
  // A task_id may be of any characters, and longer than a file's name can be.
  return `${folder}${createHash("sha256").update(key).digest("hex").slice(0, 32)}/`;
}

/** Attempts sort by the time of their claim. */
export function pathOf({ fleet, rollout, claimed_at: at, attempt }: TranscriptExtra): string {
  return `${folderOfRollout(fleet, rollout)}${at.replace(/\D/g, "")}-${safe(attempt)}.json`;
}

/** What every file system takes; `%` begins no name elsewhere. */
function safe(name: string): string {
  return name.replace(/[^\w.-]/g, (character) => `%${character.codePointAt(0)?.toString(16) ?? ""}`);
}
