/** The whole local system on somebody else's engine: real queue, table and functions, as the template wires them. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { sendAll } from "../../cli/push/producer.ts";
import { encodeMessage } from "../../functions/core/rollout/envelope.ts";
import { fleetsOf } from "../../local/job/deployment.ts";
import { synthesise } from "../../local/synth.ts";
import { type System, startSystem } from "../../local/system.ts";
import type { TailRollout } from "./tasks.ts";

export interface SortieRun {
  readonly engineUrl: string;
  readonly rollouts: readonly TailRollout[];
  /** Episodes at once: as many places as the reference has threads, or a few more. */
  readonly places: number;
  readonly settings: Readonly<Record<string, unknown>>;
}

export interface RunningSortie {
  /** Seconds of function time so far, all functions of rollouts together. */
  readonly functionSeconds: () => number;
  close(): Promise<void>;
}

const SAMPLE_MS = 100;
const TICK_SECONDS = 5;

/** Starts everything and pushes; resolves once all is pushed. */
export async function startSortie(run: SortieRun): Promise<RunningSortie> {
  const folder = await mkdtemp(join(tmpdir(), "sortie-tail-"));
  const agent = join(import.meta.dirname, "agent.ts");
  const settings = {
    engineUrl: run.engineUrl,
    agent,
    maxEpisodes: run.places,
    retain: false,
    ...run.settings,
  };
  await synthesise(join(folder, "assembly"), settings);
  const system = await startSystem({
    assemblyDir: join(folder, "assembly"),
    tickSeconds: TICK_SECONDS,
    environment: { SORTIE_SWEEP_INTERVAL_SECONDS: "0" },
    logFile: join(folder, "functions.log"),
  });
  const meter = meterOf(system);
  await push(system, run.rollouts);
  return {
    functionSeconds: meter.seconds,
    close: async () => {
      meter.stop();
      await system.close(0);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function push(system: System, rollouts: readonly TailRollout[]): Promise<void> {
  const [fleet] = fleetsOf(system);
  const bodies = rollouts.map(({ taskId, repeat, seconds }) => {
    const task = {
      task_id: taskId,
      main_query: "2 + 2 = ?",
      init_messages: [],
      env_type: "",
      metadata: { seconds },
    };
    return encodeMessage({ task, repeat, run: "tail" });
  });
  const refused = await sendAll({ client: system.sqs, queueUrl: fleet?.queueUrl ?? "" }, bodies);
  if (refused.length > 0) throw new Error(`the queue refused ${refused.length} messages`);
}

/** Integrates how many processes are at work: what Lambda bills, but for its rounding. */
function meterOf(system: System): { seconds: () => number; stop: () => void } {
  const functions = [...system.wiring.functions.values()].filter(
    ({ environment }) => environment["SORTIE_FLEET"] !== undefined,
  );
  let seconds = 0;
  let stopped = false;
  const sample = async () => {
    let last = performance.now();
    while (!stopped) {
      await delay(SAMPLE_MS);
      const now = performance.now();
      for (const { id } of functions) {
        const busy =
          system.functions
            .get(id)
            ?.processes()
            .filter(({ state }) => state === "busy").length ?? 0;
        seconds += (busy * (now - last)) / 1000;
      }
      last = now;
    }
  };
  void sample();
  return {
    seconds: () => seconds,
    stop: () => {
      stopped = true;
    },
  };
}
