/** Waits until nothing is left to do. */
import { setTimeout as delay } from "node:timers/promises";
import { readDepth } from "../../functions/adapters/queue/depth.ts";
import { createLifecycleReader } from "../../functions/adapters/table/lifecycle.ts";
import type { EngineHandle } from "../engine/start.ts";
import { Accounting } from "../job/accounting.ts";
import type { SystemUnderFaults } from "./fleet.ts";
import type { ChaosOptions } from "./options.ts";
import type { Patience } from "./patience.ts";
import type { Pushes } from "./pushes.ts";

const LOOK_MS = 500;

interface DrainParts {
  readonly tormented: SystemUnderFaults;
  readonly engine: EngineHandle;
  readonly pushes: Pushes;
  readonly patience: Patience;
}

/** Every rollout is final, no episode is claimed, and the queue is empty; or the time is over. */
export async function settledWithin(
  { tormented, engine, pushes, patience }: DrainParts,
  { seed, stop, onLook }: ChaosOptions,
  phase: "faults" | "drain",
  ms: number,
): Promise<void> {
  const { system, fleet } = tormented;
  const store = createLifecycleReader({ client: system.dynamodb, table: fleet.table });
  const accounting = new Accounting(store, [fleet.name], `chaos-${seed}`);
  const until = Date.now() + ms;
  while (Date.now() < until && !stop?.aborted) {
    const { ended, dead, unknown } = await accounting.read(Date.now());
    const final = ended + dead + unknown;
    onLook?.({ phase, final, pushed: pushes.keys.length });
    if (phase === "faults" && final >= pushes.keys.length) return;
    if (
      phase === "drain" &&
      final >= pushes.keys.length &&
      engine.inspect().open === 0 &&
      (await isEmpty(tormented))
    )
      return;
    if (phase === "drain") await patience.end(tormented);
    await delay(LOOK_MS);
  }
}

async function isEmpty({ system, fleet }: SystemUnderFaults): Promise<boolean> {
  const { visible, in_flight, delayed } = await readDepth(system.sqs, fleet.queueUrl);
  return visible + in_flight + delayed === 0;
}
