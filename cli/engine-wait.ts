/** Follows an engine until what is wanted holds, or cannot be had. */

import type { Desired, EngineStateStore, Observed } from "../functions/core/engine-lifecycle/engine-state.ts";
import { isRolling } from "../functions/core/rollout/locate-episode.ts";
import { convergence } from "./engine-convergence.ts";
import { CONFIG_UNKNOWN, isConfigUnknown } from "./engine-text.ts";
import { Interrupted } from "./failures.ts";
import { span } from "./format.ts";
import type { Io } from "./io.ts";
import { LiveLine } from "./watch.ts";

export interface Followed {
  readonly held: boolean;
  readonly why: string;
}

/** The table is asked so often; the engine moves at ticks, of which there is one a minute. */
const LOOK_MS = 2000;

export async function follow(
  { store, io }: { store: EngineStateStore; io: Pick<Io, "now" | "pause" | "progress" | "interrupted"> },
  wanted: { engine: string; desired: Desired; timeoutMs: number | undefined },
): Promise<Followed> {
  const began = io.now();
  const stop = io.interrupted();
  const line = new LiveLine(io);
  try {
    for (;;) {
      const [{ desired: now }, observed] = await Promise.all([
        store.readDesired(wanted.engine),
        store.readObserved(wanted.engine),
      ]);
      const verdict = verdictOf(wanted.desired, now, observed);
      if (verdict) return verdict;
      line.show(wordsFor(wanted.desired, observed), ` (${span(io.now() - began)})`);
      if (wanted.timeoutMs !== undefined && io.now() - began >= wanted.timeoutMs)
        return {
          held: false,
          why: `not there after ${span(io.now() - began)}; it goes on without anybody waiting`,
        };
      await io.pause(LOOK_MS, stop);
      if (stop.aborted) throw new Interrupted("stopped waiting; what was asked for stays wanted");
    }
  } finally {
    line.end();
  }
}

/** Undefined while it may still come. */
export function verdictOf(
  wanted: Desired,
  now: Desired | undefined,
  observed: Observed | undefined,
): Followed | undefined {
  if (now && now.generation > wanted.generation)
    return { held: false, why: `somebody wants something else meanwhile (generation ${now.generation})` };
  const holds = convergence(wanted, observed);
  if (!observed || holds === "not-yet") return undefined;
  if (holds === "finished") return { held: false, why: "the training has run its last step" };
  if (holds === "failed")
    return { held: false, why: observed.alarms.find(({ code }) => code === "gave-up")?.text ?? "it failed" };
  // A step of this very tick may still be on its way.
  if (observed.step.kind !== "none") return undefined;
  return wanted.state === "stopped" ? { held: true, why: "stopped" } : running(observed);
}

function running(observed: Observed): Followed | undefined {
  if (!isRolling(observed.status)) return undefined;
  const other = observed.alarms.find(({ code }) => code === "config-differs");
  if (other) return { held: false, why: `${other.text} (sortie engine restart)` };
  const unknown = isConfigUnknown(observed) ? `; ${CONFIG_UNKNOWN}` : "";
  return { held: true, why: `running, ${observed.status}, step ${observed.global_step ?? "–"}${unknown}` };
}

function wordsFor(wanted: Desired, observed: Observed | undefined): string {
  if (!observed || observed.generation !== wanted.generation)
    return "waiting for the next tick of the lifecycle function";
  const failed = observed.failures > 0 ? `, ${observed.failures} failed starts` : "";
  const seen = observed.unreachable ? `cannot be reached (${observed.unreachable.detail})` : observed.status;
  return `${seen}${failed}: ${observed.step.reason}`;
}
