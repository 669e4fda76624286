/** Wires the reconciler: one step towards what is wanted of the engine, under a lease that only one tick holds. */

import type { TableOptions } from "./adapters/table/client.ts";
import { readCode } from "./adapters/table/engine-code.ts";
import { createEngineStateStore, readAgreeRequest } from "./adapters/table/engine-state.ts";
import { createLeaseStore, tickLease } from "./adapters/table/lease.ts";
import { readLatestSnapshot } from "./adapters/table/lifecycle.ts";
import type { Clock } from "./core/clock.ts";
import type { Engine } from "./core/engine.ts";
import { Agreement } from "./core/engine-lifecycle/agree.ts";
import { driveEngine } from "./core/engine-lifecycle/drive.ts";
import type { EngineCode } from "./core/engine-lifecycle/engine-code.ts";
import type { Observed } from "./core/engine-lifecycle/engine-state.ts";
import { withLease } from "./core/engine-lifecycle/lease.ts";
import { answeredAt } from "./core/housekeeping/snapshot.ts";
import type { FleetQueue } from "./core/housekeeping/take-snapshot.ts";
import type { Log } from "./core/log.ts";
import { deployedFleetId, type LifecycleEnvironment } from "./environment.ts";

export interface Drive {
  /** `holder` names this tick, `endsAt` (unix ms) is when its time is up. */
  step(log: Log, holder: string, endsAt: number): Promise<void>;
  observed(): Promise<Observed | undefined>;
  /** Agrees to a weight sync where it is time for one. */
  agree(log: Log): Promise<void>;
}

export interface DriveParts {
  readonly table: TableOptions;
  readonly engine: Engine;
  readonly fleets: readonly FleetQueue[];
  readonly clock: Clock;
}

export function createDrive(
  environment: LifecycleEnvironment,
  { table, engine, fleets, clock }: DriveParts,
): Drive {
  const states = createEngineStateStore(table);
  const leases = createLeaseStore(table);
  const name = environment.engine;
  const agreement = new Agreement({
    rule: environment.agreeAfter,
    fleetIds: environment.fleets.map((fleet) => deployedFleetId(fleet.name, environment.table)),
  });
  const observed = () => states.readObserved(name);
  return {
    observed,
    async agree(log) {
      const request = () => readAgreeRequest(table, name);
      await agreement.look({ clock, engine, log, observed, request });
    },
    async step(log, holder, endsAt) {
      const held = await withLease(
        { clock, leases, log },
        { name: tickLease(name), holder },
        async (lease) => {
          const pool = () => engine.pool();
          const waiting = () => waitingRollouts(fleets);
          const experimentDir = () => engine.experimentDir();
          const code = (wanted: EngineCode) => readCode(table, name, wanted);
          const lastAnswer = async () => answeredAt(await readLatestSnapshot(table, name));
          const ports = { clock, engine, states, lease, log, pool, waiting, experimentDir, code };
          const { step } = await driveEngine({ ...ports, answeredAt: lastAnswer }, name, {
            settings: environment,
            endsAt,
          });
          if (step.kind !== "none") log("info", "engine", { step: step.kind, why: step.reason });
        },
      );
      if (!held.held) log("info", "another tick drives the engine", { by: held.by });
    },
  };
}

/** Messages of the fleets that are not paused; null where a queue cannot be read. */
async function waitingRollouts(fleets: readonly FleetQueue[]): Promise<number | null> {
  const counts = await Promise.all(
    fleets.map(async (fleet) => {
      if ((await fleet.gate()).paused) return 0;
      const { queue } = await fleet.depths();
      return queue.visible + queue.in_flight + queue.delayed;
    }),
  );
  return counts.reduce((sum, count) => sum + count, 0);
}
