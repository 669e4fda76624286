/** Weight syncs that wait for the clients to agree: rollouts, their ends and the lifecycle function's agreement together. */
import { describe, expect, test } from "vitest";
import type { AgreeRule } from "../../functions/core/agreement.ts";
import { Agreement, type AgreeRequest } from "../../functions/core/engine-lifecycle/agree.ts";
import type { CollectionMethod } from "../../local/engine/config.ts";
import { type FleetFixture, fleetFixtures } from "../support/fleet-fixture.ts";
import { aRollout } from "../support/rollouts.ts";

const open = fleetFixtures();
const any = "rollout_until_any_client_agree_sync_weight";
const all = "rollout_until_all_clients_agree_sync_weight";

async function openFor(collectionMethod: CollectionMethod): Promise<FleetFixture> {
  const config = { collectionMethod, batchTasks: 4, repeats: 4, slots: 16, syncSeconds: 2 };
  return await open({ config, limits: { claimWaitSeconds: 120 } });
}

interface Work {
  readonly tasks: readonly string[];
  readonly rule?: AgreeRule;
  readonly request?: AgreeRequest;
}

/** Four rollouts of each task, by two invocations at a time, with the lifecycle function's looks meanwhile. */
async function work(house: FleetFixture, { tasks, rule, request }: Work): Promise<void> {
  const bodies = tasks.flatMap((task_id) =>
    [0, 1, 2, 3].map((repeat) => aRollout({ task_id, main_query: "wait 4" }, repeat)),
  );
  await house.push(...bodies);
  const records = await house.receive(bodies.length);
  const agreement = new Agreement({ rule, fleetIds: [house.limits.fleetId] });
  const done = new AbortController();
  const looking = look(house, agreement, request, done.signal);
  const invocations = async () => {
    while (records.length > 0) expect(await house.run(records.splice(0, 8))).toEqual([]);
  };
  await Promise.all([invocations(), invocations()]);
  // For one more look.
  await house.clock.sleep(6000);
  done.abort();
  await looking;
}

async function look(
  house: FleetFixture,
  agreement: Agreement,
  request: AgreeRequest | undefined,
  done: AbortSignal,
): Promise<void> {
  const { clock, engine, log } = house.ports;
  const ports = { clock, engine, log, observed: async () => undefined, request: async () => request };
  while (!done.aborted) {
    await agreement.look(ports).catch(() => undefined);
    await clock.sleep(3000);
  }
}

/** Clients in the engine's list. */
async function activeClients(house: FleetFixture): Promise<number> {
  const { swarm_client_instruction: instruction } = await house.ports.engine.pool();
  return instruction?.active_clients.length ?? 0;
}

test.for([any, all] as const)(
  "under %s 96 rollouts sync repeatedly, and each reward counts once",
  { timeout: 120_000 },
  async (method) => {
    const house = await openFor(method);
    await work(house, {
      tasks: Array.from({ length: 24 }, (_, task) => `task-${task}`),
      rule: { episodes: 16 },
    });
    expect(house.engine.summary()).toMatchObject({ counted: 96, open: 0 });
    expect(house.engine.inspect().globalStep).toBeGreaterThanOrEqual(3);
    expect(house.logged("agreed to a weight sync").length).toBeGreaterThanOrEqual(2);
    expect(await house.counts()).toEqual({ visible: 0, inFlight: 0 });
  },
);

describe("where weight syncs wait for agreement", () => {
  test("one client stands for the fleet, though every attempt is a client of its own", async () => {
    const house = await openFor(all);
    await work(house, { tasks: ["a", "b", "c"] });
    expect(house.engine.summary()).toMatchObject({ counted: 12 });
    expect(await activeClients(house)).toBe(1);
  });

  test("nobody agrees without a rule, and a request agrees to its step alone", async () => {
    const house = await openFor(any);
    await work(house, { tasks: ["a", "b", "c", "d"] });
    expect(house.engine.inspect().globalStep).toBe(1);
    await work(house, { tasks: ["e"], request: { step: 1, at: 0 } });
    await house.until(() => (house.engine.inspect().globalStep ?? 0) > 1);
    await work(house, { tasks: ["f"], request: { step: 1, at: 0 } });
    expect(house.engine.inspect().globalStep).toBe(2);
  });
});

test("a fleet whose engine needs no agreement declares nobody active", async () => {
  const house = await openFor("rollout_until_finish_enough_tasks");
  // Until the trainer's first report, the pool does not name the method.
  while ((await house.ports.engine.pool()).sample_collection_method === "") await house.clock.sleep(1000);
  await work(house, { tasks: ["a", "b"], rule: { episodes: 1 } });
  expect(await activeClients(house)).toBe(0);
});
