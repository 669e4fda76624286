import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createAdmissionStore } from "../../../../functions/adapters/table/admission.ts";
import {
  AdmissionController,
  type AdmissionPorts,
} from "../../../../functions/core/admission/admission-controller.ts";
import type { AdmissionStore } from "../../../../functions/core/admission/admission-item.ts";
import { EngineError } from "../../../../functions/core/errors.ts";
import { type PoolInformation, poolInformationSchema } from "../../../../functions/core/protocol.ts";
import { createTables, startTableServer, type TableServer } from "../../../../local/servers/table-server.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { stateTable } from "../../adapters/table/servers.ts";

let server: TableServer;
beforeAll(async () => {
  server = await startTableServer();
  await createTables(server, [stateTable]);
});
afterAll(() => server.close());

const setting = { ratio: 0.5, batchSize: 4, repeats: 2 };
const theirs = { e: { client_uuid: "code/i.1", optional_task_id: "z" } };
const poolOf = (facts: object): PoolInformation =>
  poolInformationSchema.parse({
    engine_status: "ENGINE.ROLLING",
    global_step: 3,
    running_episode_details: theirs,
    ...facts,
  });

interface Setup {
  readonly pool?: () => Promise<PoolInformation>;
  readonly wrap?: (store: AdmissionStore) => AdmissionStore;
}

let fleets = 0;
/** Desks of one fleet on a real table, and what they asked for. */
function open({ pool = async () => poolOf({}), wrap = (store) => store }: Setup = {}) {
  fleets += 1;
  const fleet = `fleet-${fleets}`;
  const count = { pools: 0, reads: 0, writes: 0 };
  const logged: string[] = [];
  const store = createAdmissionStore({ client: server.client, table: stateTable.name, ttlDays: 1 });
  const admissions = wrap({
    read: async (name) => {
      count.reads += 1;
      return await store.read(name);
    },
    write: async (name, previous, next) => {
      count.writes += 1;
      return await store.write(name, previous, next);
    },
  });
  const clock = new FakeClock(1_000_000);
  const ports: AdmissionPorts = {
    clock,
    random: () => 0.5,
    admissions,
    log: (_level, message) => logged.push(message),
    engine: {
      pool: async () => {
        count.pools += 1;
        return await pool();
      },
    },
  };
  const desk = () => new AdmissionController(ports, { fleet: fleet, fleetId: fleet }, setting);
  const places = async () => (await store.read(fleet))?.places;
  return { desk, count, logged, places, store, fleet, clock };
}

const admittedOf = async (asks: Promise<{ admitted: boolean }>[]) =>
  (await Promise.all(asks)).map(({ admitted }) => admitted);

describe("a desk", () => {
  test("decides for all that ask at once from one reading, and writes once", async () => {
    const { desk, count, places } = open();
    const here = desk();
    const tickets = ["d", "c", "b", "a", "a"].map((task) => here.request(task));
    expect(await admittedOf(tickets.map((ticket) => ticket.ask()))).toEqual([false, false, true, true, true]);
    expect(count).toEqual({ pools: 1, reads: 1, writes: 1 });
    expect(await places()).toEqual({
      a: { since: 1_000_005, claims: 2 },
      b: { since: 1_000_005, claims: 1 },
    });
  });

  test("does not write where nothing changes", async () => {
    const { desk, count } = open();
    const here = desk();
    const [a, b, c] = ["a", "b", "c"].map((task) => here.request(task));
    await admittedOf([a?.ask(), b?.ask(), c?.ask()].filter((ask) => ask !== undefined));
    expect(await a?.ask()).toEqual({ admitted: true, reason: "" });
    expect((await c?.ask())?.reason).toBe(
      "Throttling because there are already 2 unique tasks in the batch, which meets/exceeds the threshold of 2.0 for task_id c.",
    );
    expect(count).toEqual({ pools: 3, reads: 3, writes: 1 });
  });

  test("lets a sibling pass that another function holds", async () => {
    const { desk, places } = open();
    expect(await admittedOf([desk().request("a").ask()])).toEqual([true]);
    expect(await admittedOf([desk().request("b").ask()])).toEqual([true]);
    const third = desk();
    expect(await admittedOf([third.request("c").ask(), third.request("a").ask()])).toEqual([false, true]);
    expect((await places())?.["a"]?.claims).toBe(2);
  });

  test("decides anew where another function was faster", async () => {
    const faster: { ask: (() => Promise<unknown>) | undefined } = { ask: undefined };
    const wrap = (store: AdmissionStore): AdmissionStore => ({
      read: store.read,
      write: async (fleet, previous, next) => {
        const first = faster.ask;
        faster.ask = undefined;
        await first?.();
        return await store.write(fleet, previous, next);
      },
    });
    const { desk, count } = open({ wrap });
    const other = desk();
    faster.ask = () => admittedOf([other.request("x").ask(), other.request("y").ask()]);
    expect(await admittedOf([desk().request("a").ask()])).toEqual([false]);
    // The second look at the item is in the same batch: the pool is not asked again.
    expect(count).toEqual({ pools: 2, reads: 3, writes: 2 });
  });

  test("admits nobody where it never gets its turn", async () => {
    const wrap = (store: AdmissionStore): AdmissionStore => ({ read: store.read, write: async () => false });
    const { desk, logged } = open({ wrap });
    expect(await desk().request("a").ask()).toEqual({
      admitted: false,
      reason: "Throttling because too many functions are being admitted at once.",
    });
    expect(logged).toEqual(["fleet's admissions are busy"]);
  });

  test("admits nobody where the pool cannot be read, unlike the reference, and works again afterwards", async () => {
    const error = new EngineError({ failure: "unclear", call: "pool", detail: "reset" });
    let broken = true;
    const { desk, count } = open({ pool: async () => (broken ? Promise.reject(error) : poolOf({})) });
    const here = desk();
    const asks = await Promise.allSettled([here.request("a").ask(), here.request("b").ask()]);
    expect(asks.map((ask) => ask.status === "rejected" && ask.reason)).toEqual([error, error]);
    expect(count.writes).toBe(0);
    broken = false;
    expect(await admittedOf([here.request("a").ask()])).toEqual([true]);
  });

  test("admits nobody once the engine has left ROLLING", async () => {
    const { desk, count } = open({ pool: async () => poolOf({ engine_status: "ENGINE.WEIGHT_SYNCING" }) });
    expect(await desk().request("a").ask()).toEqual({
      admitted: false,
      reason: "The engine is ENGINE.WEIGHT_SYNCING by now.",
    });
    expect(count.writes).toBe(0);
  });
});

describe("a ticket that is given back", () => {
  test("frees the place for another task, in one write for all that leave", async () => {
    const { desk, count, places } = open();
    const here = desk();
    const [a, b] = [here.request("a"), here.request("b")];
    await admittedOf([a.ask(), b.ask()]);
    await Promise.all([a.release(), b.release()]);
    expect(count).toEqual({ pools: 1, reads: 2, writes: 2 });
    expect(await places()).toEqual({});
    expect(await admittedOf([here.request("c").ask()])).toEqual([true]);
  });

  test("leaves a sibling's claim alone", async () => {
    const { desk, places } = open();
    const [one, two] = [desk().request("a"), desk().request("a")];
    await one.ask();
    await two.ask();
    await one.release();
    await one.release();
    expect((await places())?.["a"]?.claims).toBe(1);
  });

  test("was never admitted, or belongs to an earlier batch: nothing is written", async () => {
    let step = 3;
    const { desk, count } = open({ pool: async () => poolOf({ global_step: step }) });
    const here = desk();
    const [a, b, c] = [here.request("a"), here.request("b"), here.request("c")];
    await admittedOf([a.ask(), b.ask(), c.ask()]);
    await c.release();
    step = 4;
    await admittedOf([here.request("a").ask()]);
    const before = count.writes;
    await a.release();
    expect(count.writes).toBe(before);
  });
});
