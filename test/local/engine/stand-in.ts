/** A stand-in for a test: its time is virtual, it rolls, and a worker is at hand. */
import type { EngineModel, EngineOptions } from "../../../local/engine/config.ts";
import { type EngineHandle, startEngine } from "../../../local/engine/start.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";
import { Wire } from "./wire.ts";
import { Worker } from "./worker.ts";

export interface StandIn {
  readonly clock: VirtualClock;
  readonly engine: EngineHandle;
  readonly wire: Wire;
  readonly worker: Worker;
  /** s. */
  advance(seconds: number): Promise<void>;
}

/** Answers at once; a number in the question is how many seconds it takes. */
const model: EngineModel = (request) => ({
  message: { role: "assistant", content: "four" },
  seconds: Number(/^\d+$/.exec(String(request.messages.at(-1)?.content))?.[0] ?? 0),
});

/** With batches of 2 tasks × 2 repeats, unless `config` says otherwise. */
export async function standIn({ config, ...options }: Partial<EngineOptions> = {}): Promise<StandIn> {
  const clock = new VirtualClock();
  const whole = { batchTasks: 2, repeats: 2, ...config };
  const engine = await startEngine({ clock, seed: 1, model, ...options, config: whole });
  const wire = new Wire(engine, clock);
  const advance = (seconds: number) => clock.advance(seconds * 1000);
  await advance(engine.config.bootSeconds + engine.config.registerSeconds);
  return { clock, engine, wire, worker: new Worker(engine, wire), advance };
}
