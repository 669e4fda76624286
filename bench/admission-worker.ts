/** One function process of `bench/admission.ts`: asks for its rollouts, ten at a time, and says what that took. */
import { createEngine } from "../functions/adapters/engine/index.ts";
import { createAdmissionStore } from "../functions/adapters/table/admission.ts";
import { createTableClient } from "../functions/adapters/table/client.ts";
import type { ThrottleSetting } from "../functions/contract/throttle-setting.ts";
import { AdmissionController } from "../functions/core/admission/admission-controller.ts";
import type { AdmissionStore } from "../functions/core/admission/admission-item.ts";
import { systemClock as clock } from "../functions/system-clock.ts";

export interface Work {
  readonly engineUrl: string;
  readonly table: string;
  readonly fleet: string;
  readonly setting: ThrottleSetting;
  /** The task of each rollout. */
  readonly rollouts: readonly string[];
  /** How many ask at the same time. */
  readonly together: number;
}

export interface Counts {
  admitted: number;
  pools: number;
  reads: number;
  writes: number;
  conflicts: number;
}

process.once("message", (work: Work) => {
  const counts: Counts = { admitted: 0, pools: 0, reads: 0, writes: 0, conflicts: 0 };
  const desk = openDesk(work, counts);
  process.once("message", () => void run(work, desk, counts));
  process.send?.("ready");
});

async function run({ rollouts, together }: Work, desk: AdmissionController, counts: Counts): Promise<void> {
  for (let from = 0; from < rollouts.length; from += together) {
    const asks = rollouts.slice(from, from + together).map((task) => untilAdmitted(desk, task));
    await Promise.all(asks);
    counts.admitted += asks.length;
  }
  process.send?.(counts, () => process.disconnect());
}

async function untilAdmitted(desk: AdmissionController, task: string): Promise<void> {
  const ticket = desk.request(task);
  while (!(await ticket.ask()).admitted) await clock.sleep(2000);
}

function openDesk(work: Work, counts: Counts): AdmissionController {
  const engine = createEngine({ url: work.engineUrl, clock });
  const pool = async () => {
    counts.pools += 1;
    return await engine.pool();
  };
  const store = createAdmissionStore({ client: createTableClient(), table: work.table, ttlDays: 1 });
  const ports = {
    clock,
    random: Math.random,
    engine: { pool },
    admissions: counted(store, counts),
    log: () => undefined,
  };
  return new AdmissionController(ports, { fleet: work.fleet, fleetId: work.fleet }, work.setting);
}

function counted(store: AdmissionStore, counts: Counts): AdmissionStore {
  return {
    read: async (fleet) => {
      counts.reads += 1;
      return await store.read(fleet);
    },
    write: async (fleet, left, next) => {
      counts.writes += 1;
      const written = await store.write(fleet, left, next);
      if (!written) counts.conflicts += 1;
      return written;
    },
  };
}
