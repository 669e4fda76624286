/** What the lifecycle function works on: a real table, and an engine whose pool shows what a test says. */
import { afterAll, beforeAll, vi } from "vitest";
import { createAbortStore } from "../../../../functions/adapters/table/aborts.ts";
import { createBatchStore } from "../../../../functions/adapters/table/batches.ts";
import { createGateStore } from "../../../../functions/adapters/table/gate.ts";
import { createInvocationStore } from "../../../../functions/adapters/table/invocations.ts";
import { createLifecycleStore } from "../../../../functions/adapters/table/lifecycle.ts";
import { createRolloutStore } from "../../../../functions/adapters/table/rollouts.ts";
import { createUsageStore } from "../../../../functions/adapters/table/usage.ts";
import { createWatchStore } from "../../../../functions/adapters/table/watch.ts";
import { FleetGate } from "../../../../functions/core/circuit/gate.ts";
import type { SweepPorts } from "../../../../functions/core/housekeeping/sweep-ports.ts";
import type { PoolInformation } from "../../../../functions/core/protocol.ts";
import type { Invocation } from "../../../../functions/core/rollout/invocation.ts";
import type { RolloutItem } from "../../../../functions/core/rollout/item.ts";
import { createTables, startTableServer, type TableServer } from "../../../../local/servers/table-server.ts";
import { engineThat } from "../../../support/engine-that.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { sendJson } from "../../../support/http-server.ts";
import { stateTable } from "../../adapters/table/servers.ts";
import { anItem, aPool, NOW } from "../items.ts";

/** Call once at the top of a test file. Each world has a table, a fleet and an engine of its own, of the same name. */
export function worlds() {
  let server: TableServer | undefined;
  beforeAll(async () => {
    server = await startTableServer();
  });
  afterAll(() => server?.close());
  let serial = 0;
  return async () => {
    if (!server) throw new Error("expected a table; open worlds in tests only");
    serial += 1;
    const name = `world-${serial}`;
    await createTables(server, [{ ...stateTable, name }]);
    return await openWorld({ client: server.client, table: name }, name);
  };
}

export type World = Awaited<ReturnType<typeof openWorld>>;

async function openWorld(table: { client: TableServer["client"]; table: string }, name: string) {
  const clock = new FakeClock(NOW);
  /** One entry for each reading, the last one stays; undefined: the engine answers 500. */
  const pools: (PoolInformation | undefined)[] = [aPool()];
  const { engine, server } = await engineThat(
    (request, response) => {
      if (request.path === "/abort_episode") return sendJson(response, 200, { success: true });
      if (request.path === "/get_engine_status")
        return sendJson(response, 200, { engine_status: "ENGINE.ROLLING", global_step: 1 });
      const pool = pools.length > 1 ? pools.shift() : pools[0];
      sendJson(response, pool ? 200 : 500, pool ?? { detail: "broken" });
    },
    { clock, getRetries: 0 },
  );
  const rollouts = createRolloutStore({ ...table, ttlDays: 1 });
  const store = createLifecycleStore({ ...table, snapshotTtlDays: 1 });
  const log = vi.fn();
  const calls: [string, string, number?][] = [];
  const queue = {
    defer: async (receipt: string, seconds: number) => void calls.push(["defer", receipt, seconds]),
    delete: async (receipt: string) => void calls.push(["delete", receipt]),
    show: async (receipts: readonly string[]) => {
      for (const receipt of receipts) calls.push(["show", receipt]);
    },
  };
  const gates = createGateStore(table);
  const usage = createUsageStore(table);
  const gate = new FleetGate({ clock, log, gates }, name);
  const meter = { attempt: vi.fn() };
  const fleet = { limits: { fleet: name, fleetId: name, maxAttempts: 3 }, gate, meter, queue };
  const ports: SweepPorts = {
    clock,
    random: () => 0.5,
    log,
    engine,
    rollouts,
    aborts: createAbortStore(table),
    batches: createBatchStore(table),
    invocations: createInvocationStore(table),
    watch: createWatchStore(table),
    usage,
    index: store,
    fleets: new Map([[name, fleet]]),
  };
  return {
    name,
    table,
    clock,
    store,
    log,
    gates,
    ports,
    /** What became of messages. */
    calls,
    show: (...shown: (PoolInformation | undefined)[]) => void pools.splice(0, pools.length, ...shown),
    aborts: () => server.received.filter(({ path }) => path === "/abort_episode").map(({ json }) => json),
    async put(facts: Partial<RolloutItem>): Promise<RolloutItem> {
      const item = anItem({ fleet: name, engine: name, ...facts });
      await rollouts.move(undefined, item);
      return item;
    },
    async stands(key: string): Promise<RolloutItem> {
      const found = await rollouts.read(name, key);
      if (!found) throw new Error(`expected the rollout ${key} in the table, found none`);
      return found;
    },
    usage,
    /** A sign of life, by a clock that may be another one. */
    alive: async (id: string, facts: Partial<Invocation> = {}) =>
      await ports.invocations.alive({
        id,
        fleet: name,
        alive_at: NOW,
        silent_at: (facts.alive_at ?? NOW) + 50_000,
        ends_at: NOW + 900_000,
        ...facts,
      }),
  };
}
