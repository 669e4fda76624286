import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { createGateStore } from "../../../../functions/adapters/table/gate.ts";
import { createUsageStore } from "../../../../functions/adapters/table/usage.ts";
import type { GateStore } from "../../../../functions/core/circuit/gate.ts";
import { type BudgetPorts, keepBudget, readSpend } from "../../../../functions/core/spend/budget.ts";
import { dayOf, estimateUsd } from "../../../../functions/core/spend/spend.ts";
import { createTables, startTableServer, type TableServer } from "../../../../local/servers/table-server.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { stateTable } from "../../adapters/table/servers.ts";

const DAY_MS = 86_400_000;
/** 23:00 UTC. */
const EVENING = Date.UTC(2030, 0, 1, 23);
/** One dollar of function time, more or less. */
const used = { gb_seconds: 75_000, invocations: 0, deliveries: 0 };
const price = estimateUsd(used);

let server: TableServer;
beforeAll(async () => {
  server = await startTableServer();
  await createTables(server, [stateTable]);
});
afterAll(() => server.close());

let serial = 0;
function aFleet() {
  serial += 1;
  const fleet = `fleet-${serial}`;
  const table = { client: server.client, table: stateTable.name };
  const clock = new FakeClock(EVENING);
  const ports: BudgetPorts = {
    clock,
    log: vi.fn(),
    gates: createGateStore(table),
    usage: createUsageStore(table),
  };
  return {
    clock,
    ports,
    spend: () => ports.usage.add(fleet, dayOf(clock.now()), used),
    pause: (why: string) => ports.gates.setPaused(fleet, { at: clock.now(), why }),
    paused: async () => (await ports.gates.read(fleet)).paused,
    /** As each tick does. */
    async keep(budget: number | undefined, gates: GateStore = ports.gates) {
      const spend = await readSpend(ports, fleet, budget);
      await keepBudget({ ...ports, gates }, fleet, spend, await gates.read(fleet));
      return spend;
    },
    fleet,
  };
}

describe("a fleet's budget", () => {
  test("pauses it when the day's spend has reached it, and says so", async () => {
    const fleet = aFleet();
    await fleet.keep(price);
    expect(await fleet.paused()).toBeUndefined();
    await fleet.spend();
    expect(await fleet.keep(price)).toEqual({
      usd_today: price,
      usd_total: price,
      budget_usd_per_day: price,
      budget_exceeded: true,
    });
    expect(await fleet.paused()).toMatchObject({ at: EVENING, by: "budget" });
    expect((await fleet.paused())?.why).toMatch(
      /^the budget of \$.* a day is spent .* goes on at 00:00 UTC$/,
    );
  });

  test("lets it go on with the next day (UTC), whose spend begins at nothing", async () => {
    const fleet = aFleet();
    await fleet.spend();
    await fleet.keep(price);
    await fleet.clock.sleep(3_599_999);
    await fleet.keep(price);
    expect(await fleet.paused()).toMatchObject({ by: "budget", at: EVENING });
    await fleet.clock.sleep(1);
    expect(await fleet.keep(price)).toMatchObject({ usd_today: 0, usd_total: price, budget_exceeded: false });
    expect(await fleet.paused()).toBeUndefined();
  });

  test("lets it go on once it has been raised or taken away", async () => {
    for (const budget of [price * 2, undefined]) {
      const fleet = aFleet();
      await fleet.spend();
      await fleet.keep(price);
      await fleet.keep(budget);
      expect(await fleet.paused()).toBeUndefined();
    }
  });

  test("leaves a person's pause alone, spent or not", async () => {
    const fleet = aFleet();
    await fleet.spend();
    await fleet.pause("lunch");
    await fleet.keep(price);
    await fleet.clock.sleep(DAY_MS);
    await fleet.keep(price);
    expect(await fleet.paused()).toEqual({ at: EVENING, why: "lunch" });
  });

  test("pauses again a fleet that somebody resumed on the same day", async () => {
    const fleet = aFleet();
    await fleet.spend();
    await fleet.keep(price);
    await fleet.ports.gates.setPaused(fleet.fleet, undefined);
    await fleet.keep(price);
    expect(await fleet.paused()).toMatchObject({ by: "budget" });
  });

  test("is none where the setting is absent", async () => {
    const fleet = aFleet();
    await fleet.spend();
    expect(await fleet.keep(undefined)).toMatchObject({ budget_usd_per_day: null, budget_exceeded: false });
    expect(await fleet.paused()).toBeUndefined();
  });
});

describe("a person who pauses the fleet between the budget's look and its write", () => {
  /** The person acts after the gate has been read. */
  function meddling(fleet: ReturnType<typeof aFleet>): GateStore {
    const { gates } = fleet.ports;
    return {
      ...gates,
      read: async (name) => {
        const state = await gates.read(name);
        await fleet.pause("lunch");
        return state;
      },
    };
  }

  test("is not overruled by a pause that ends at midnight", async () => {
    const fleet = aFleet();
    await fleet.spend();
    await fleet.keep(price, meddling(fleet));
    expect(await fleet.paused()).toEqual({ at: EVENING, why: "lunch" });
  });

  test("is not resumed with the budget's pause", async () => {
    const fleet = aFleet();
    await fleet.spend();
    await fleet.keep(price);
    await fleet.keep(undefined, meddling(fleet));
    expect(await fleet.paused()).toEqual({ at: EVENING, why: "lunch" });
  });
});
