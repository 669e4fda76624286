/** A queue may deliver a message again while its first delivery still waits for the engine: one of them claims. */
import { describe, expect, test } from "vitest";
import { readLateResults } from "../../functions/adapters/table/late-results.ts";
import { askOnce, type FleetFixture, fleetFixtures } from "../support/fleet-fixture.ts";
import { aRollout, keyOf } from "../support/rollouts.ts";
import { anAttempt, anItem } from "./core/items.ts";

const open = fleetFixtures();

/** A delivery that waits for an engine which syncs its weights, for as long as the test wants. */
async function waitingForTheEngine() {
  const house = await open({ limits: { claimWaitSeconds: 600 } });
  house.engine.setStatus("ENGINE.WEIGHT_SYNCING");
  await house.push(aRollout());
  const [record] = await house.receive(1);
  if (!record) throw new Error("expected a message");
  let reads = 0;
  const { read } = house.ports.rollouts;
  Object.assign(house.ports.rollouts, {
    read: async (fleet: string, key: string) => {
      reads += 1;
      return await read(fleet, key);
    },
  });
  const back = house.run([record]);
  await house.until(() => reads === 1);
  // What was read a moment ago is not read again.
  await house.clock.sleep(2000);
  return { house, record, back, reads: () => reads };
}

/** Another delivery has claimed for it, and its invocation lives. */
async function claimedByAnother({ fleet, limits, ports, clock }: FleetFixture): Promise<void> {
  const attempt = anAttempt({ invocation: "another", expires_at: clock.now() + 10_000_000 });
  const item = { fleet, engine: limits.engine, key: keyOf(), state: "running" as const, attempt };
  await ports.rollouts.move(undefined, anItem(item));
}

describe("a delivery that has waited for the engine", () => {
  test("claims nothing for a rollout that another one has claimed for meanwhile", async () => {
    const { house, record, back } = await waitingForTheEngine();
    await claimedByAnother(house);
    house.engine.setStatus("ENGINE.ROLLING");
    expect(await back).toEqual([record.messageId]);
    expect(house.engine.summary()).toMatchObject({ claimsGranted: 0, aborts: 0 });
    expect(house.logged("message deferred")).toMatchObject([{ reason: "open-attempt", seconds: 30 }]);
  });

  test("is done with where another one has ended it meanwhile", async () => {
    const { house, back } = await waitingForTheEngine();
    await house.ports.rollouts.move(
      undefined,
      anItem({ fleet: house.fleet, engine: house.limits.engine, key: keyOf(), state: "ended" }),
    );
    house.engine.setStatus("ENGINE.ROLLING");
    expect(await back).toEqual([]);
    expect(house.engine.summary()).toMatchObject({ claimsGranted: 0 });
    expect(await house.counts()).toEqual({ visible: 0, inFlight: 0 });
  });

  test("claims where nobody else has, after one more look", async () => {
    const { house, back, reads } = await waitingForTheEngine();
    house.engine.setStatus("ENGINE.ROLLING");
    expect(await back).toEqual([]);
    expect(reads()).toBeGreaterThanOrEqual(2);
    expect(house.engine.summary()).toMatchObject({ claimsGranted: 1, counted: 1, open: 0 });
  });

  test("claims nothing while the table cannot tell", async () => {
    const { house, record, back } = await waitingForTheEngine();
    Object.assign(house.ports.rollouts, { read: () => Promise.reject(new Error("over capacity")) });
    house.engine.setStatus("ENGINE.ROLLING");
    expect(await back).toEqual([record.messageId]);
    expect(house.engine.summary()).toMatchObject({ claimsGranted: 0 });
  });
});

test("a result that comes after its attempt was closed is told beside the rollout, and changes nothing", async () => {
  const house: FleetFixture = await open({
    agent: async (task, episode) => {
      const output = await askOnce(task, episode);
      const item = await house.item(keyOf());
      if (!item?.attempt) throw new Error("expected the attempt open");
      const { attempt, ...rest } = item;
      const past = { id: attempt.id, episode: attempt.episode, reason: "suspected" as const };
      const history = [{ ...past, at: house.clock.now(), from: attempt.claimed_at, step: 1 }];
      await house.ports.rollouts.move(item, { ...rest, state: "waiting", history, stamp: "the sweep's" });
      return output;
    },
  });
  await house.push(aRollout());
  expect((await house.deliver()).back).toHaveLength(1);
  const item = await house.item(keyOf());
  expect(item).toMatchObject({ state: "waiting", stamp: "the sweep's", history: [{ reason: "suspected" }] });
  const [past] = item?.history ?? [];
  const facts = { attempt: past?.id, closed_as: "suspected", state: "waiting", rollout: keyOf() };
  expect(house.logged("result came too late: its attempt was closed")).toEqual([
    { ...facts, episode: past?.episode },
  ]);
  const table = { client: house.estate.servers.tables.client, table: house.estate.table };
  expect(await readLateResults(table, house.fleet, keyOf())).toEqual([
    { v: 1, id: past?.id, episode: past?.episode, at: expect.any(Number), reward: 1 },
  ]);
  expect(house.engine.summary()).toMatchObject({ endsAccepted: 0, counted: 0 });
});
