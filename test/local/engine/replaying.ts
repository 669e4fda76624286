/** A replay, as what happens beside its recorded steps sees it. */
import type { EngineHandle } from "../../../local/engine/start.ts";
import type { Worker } from "./worker.ts";

export interface Replaying {
  readonly engine: EngineHandle;
  readonly worker: Worker;
  uuidOf(name: string): string;
  bind(name: string, uuid: string): void;
  bindUnknown(name: string): void;
  advance(seconds: number): Promise<void>;
  call(path: string, body?: unknown): Promise<unknown>;
}
